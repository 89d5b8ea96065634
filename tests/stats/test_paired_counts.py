"""One yes/no trial per case and arm: published numbers, symmetry, and edges."""

from math import isnan

import pytest
from scipy.special import chdtrc

from evalstats.stats.paired_counts import PairedTable, mcnemar_exact, newcombe_paired

BY_NAME = {"newcombe_paired": newcombe_paired, "mcnemar_exact": mcnemar_exact}


def test_published(published, agrees):
    table = PairedTable(*(int(published[cell]) for cell in PairedTable._fields))
    agrees(BY_NAME[published["function"]](table), published)


@pytest.mark.parametrize(
    ("both", "up", "down", "neither"),
    [(59, 6, 16, 80), (0, 3, 0, 4), (5, 0, 0, 5), (0, 7, 2, 0), (3, 1, 1, 0)],
)
def test_arms_change_sides(both, up, down, neither):
    there, back = newcombe_paired((both, up, down, neither)), newcombe_paired((both, down, up, neither))
    assert there.conf_low == pytest.approx(-back.conf_high, abs=1e-12)
    assert -1 <= there.conf_low < there.estimate + 1e-12 and there.conf_high <= 1
    greater = mcnemar_exact((both, up, down, neither), alternative="greater")
    assert greater.p_value == pytest.approx(
        mcnemar_exact((both, down, up, neither), alternative="less").p_value
    )


def test_one_sided_tails_meet_at_the_observed_table():
    less, greater = (mcnemar_exact((0, 2, 5, 0), alternative=side).p_value for side in ("less", "greater"))
    assert less == pytest.approx(29 / 128)
    assert less + greater == pytest.approx(1 + 21 / 128)


def test_no_pairs_is_unknown():
    assert isnan(mcnemar_exact((0, 0, 0, 0)).p_value)
    record = newcombe_paired((0, 0, 0, 0))
    assert isnan(record.estimate) and isnan(record.conf_low) and record.caveats == ("no pairs",)


def test_no_discordant_case_is_no_evidence():
    test = mcnemar_exact((4, 0, 0, 3))
    assert (test.statistic, test.p_value, test.caveats) == (0, 1, ("no discordant cases",))


@pytest.mark.parametrize("table", [(6, 0, 0, 0), (0, 0, 0, 6), (0, 6, 0, 0), (0, 0, 6, 0), (1, 0, 0, 0)])
def test_all_alike_has_width_but_no_standard_error(table):
    record = newcombe_paired(table)
    assert record.conf_high - record.conf_low > 0.3
    assert isnan(record.std_error) and "all cases agree" in record.caveats[0]


@pytest.mark.parametrize("function", BY_NAME.values(), ids=BY_NAME)
def test_impossible_counts_are_named(function):
    with pytest.raises(ValueError, match="counts must be whole"):
        function((1, -1, 2, 0))
    with pytest.raises(ValueError, match="counts must be whole"):
        function((1, 0.5, 2, 0))


def test_options_are_checked():
    with pytest.raises(ValueError, match="alternative must be one of"):
        mcnemar_exact((1, 1, 1, 1), alternative="larger")
    with pytest.raises(ValueError, match="level must be inside"):
        newcombe_paired((1, 1, 1, 1), level=1)


def test_table_is_counted_from_passes():
    table = PairedTable.of([1, 1, 1, 0, 0, 0], [1, 1, 0, 1, 0, 0])
    assert table == (2, 1, 1, 2)
    with pytest.raises(ValueError, match="counts must be whole"):
        PairedTable.of([0.5], [1])


def test_exact_and_chi_square_agree_where_pairs_are_many():
    """Approval of a prime minister, 1600 pairs: McNemar's chi-square is 17.356."""
    found = mcnemar_exact((794, 86, 150, 570))
    chi_square = (2 * found.statistic - 236) ** 2 / 236
    assert chi_square == pytest.approx(17.356, abs=5e-4)
    assert found.p_value == pytest.approx(chdtrc(1, chi_square), rel=0.3)
