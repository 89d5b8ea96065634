"""Numbers with honest error bars: arrays in, `Estimate` or `Test` out.

How high is it?
    - pass rate, one trial a case, or reruns of one case -> `wilson`; guaranteed -> `clopper_pearson`;
      with a prior -> `jeffreys`, `beta_posterior`
    - pass rate, several trials a case -> `pass_rate` chooses between `case_mean`, `beta_binomial_grid` and
      `wilson_effective`; the whole posterior -> `beta_binomial_posterior`
    - mean of graded scores, clustered or not -> `mean_score`; of scores in any unit -> `case_mean`;
      of many, without a seed -> `saddlepoint_mean`
    - at least one of k attempts, or all of them -> `pass_at_k`, `pass_hat_k`
    - any function of means -> `bootstrap`; its draws -> `resampled_means`; of a further run -> `two_level_means`
    - the middle half of the trials, the whole distribution -> `iqm`, `performance_profile`

Is A better than B?
    - on the same cases -> `paired_difference` chooses between `paired_t`, `newcombe_paired` and `dp25`
    - as a p-value -> `paired_t_test`; one yes/no trial a case -> `mcnemar_exact`; without any distribution ->
      `sign_flip_test`
    - on different cases -> `newcombe`; several groups at once -> `anova_one_way`
    - trial by trial -> `probability_of_improvement`
    - is it as good, or not worse by a margin? -> `tost`, `non_inferiority`

How much of the headroom does A take?
    - lift, over cases or expectations -> `lift` chooses between `lift_smoothed` and `lift_saddlepoint`; in
      closed form -> `lift_delta_log`, `lift_fieller`; any ratio of means -> `saddlepoint_ratio`
    - by kind of prompt -> `archetype_differences`; enough prompts for a lift -> `archetype_lifts`; of a typical
      archetype -> `macro_lift`
    - what the older rule reads -> `lift_of_medians`

Which of several groups differ?
    - flags that must not be false -> `holm`; for exploring -> `benjamini_hochberg`
    - the mean of each -> `group_means`; for ranking -> `shrunken_groups`

Where does the variance come from?
    - cases, days, trials, judge -> `variance_components`; cross-check on small data -> `mixed_model`
    - likeness within a case, from counts -> `case_correlation`; within a cluster -> `icc`; what it costs ->
      `design_effect`

Do judges agree, and are they right?
    - with one another -> `krippendorff_alpha`, `fleiss_kappa`, `rater_icc`; two of them -> `cohen_kappa`,
      `kappa_paradox`
    - with themselves -> `flip_rate`, `judge_noise`; their part in rerun noise -> `judge_share`; how often to
      ask -> `repeats_needed`
    - which difference may be the judge alone? -> `difference_floor`, `lift_floor`, `flipped_lift`
    - the true pass rate behind the verdicts -> `ppi_mean` with labels among these cases, `rogan_gladen` with
      labels from elsewhere
    - does the judge favour anyone? -> `bias_by_arm`, `self_preference`

Will the next run land here?
    - next run -> `prediction_band`; most future runs -> `tolerance_band`; long-run mean -> `confidence_band`
    - with fewer than five runs -> `model_band`
    - do runs vary more than their trials explain? -> `variance_ratio`

Has something changed?
    - what is normal -> `in_control`; a jump -> `shewhart`; a drift -> `ewma`; a shift that stays -> `cusum`
    - which limit suits a short history -> `simulated_limit`, `false_alarm_probability`; how long until an
      alarm -> `shewhart_run_length`, `ewma_run_length`, `cusum_run_length`
    - looking every night, with a guarantee -> `confidence_sequence`, `e_process_test`, `shiryaev_roberts`
    - when it changed, afterwards -> `e_divisive`

May it block?
    - block, pass, or cannot tell yet -> `three_verdict`
    - is the suite steady enough? -> `gate_readiness`, `largest_ready_spread`, `blocking_curve`
    - what the prescribed rule does -> `legacy_gate`; how often it is wrong -> `legacy_operating_characteristic`

How many does it take?
    - cases -> `cases_needed`, `n_required`; what so many see -> `detectable_effect`; below 30 cases ->
      `simulated_power`
    - trials or cases, at the lowest cost -> `best_allocation`, `cheapest_plan`
    - clean runs -> `zero_failure_runs`

What does it cost?
    - the middle case -> `exact_median`; against another arm -> `cost_ratio`

Does a method keep its promise?
    - coverage, bias, width, size and power in a declared `World` -> `diagnose`

Every estimate names its population: SUPER asks whether it holds on new cases like these, FIXED whether these
very cases would do the same again. What cannot be computed is NaN with a caveat, never 0.
"""

import lazy_loader

# A name is loaded when it is first asked for; `__init__.pyi` says from where. Nobody pays for what they do not use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
