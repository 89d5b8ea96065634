"""Text checks of lift suites, at their edges."""

import pytest

from evalstats.runner.terraform import cites, has_argument, has_import, has_resource


@pytest.mark.parametrize(
    "text, found",
    [
        ('resource "aws_lb" "x" {', True),
        ('resource  "aws_lb"  "x"{', True),
        ("depends_on = [aws_lb.x]", True),
        ("aws_lb.x", True),
        ('resource "aws_lb_listener" "x" {', False),
        ('data "aws_lb" "x" {', False),
        ("data.aws_lb.x.arn", False),
        ("my-aws_lb.x", False),
        ("Use an aws_lb. Then rest.", False),
        ("https://registry/aws_lb.html", False),
        ("aws_lb", False),
        ('resource "aws_lb"', False),
    ],
)
def test_resource_by_type(text, found):
    assert has_resource(text, "aws_lb") is found


@pytest.mark.parametrize(
    "text, found",
    [
        ('resource "aws_lb" "x" {', True),
        ("aws_lb.x.arn", True),
        ('resource "aws_lb" "xy" {', False),
        ("aws_lb.xy", False),
        ("aws_lb.x_y", False),
    ],
)
def test_resource_by_address(text, found):
    assert has_resource(text, "aws_lb.x") is found


@pytest.mark.parametrize(
    "text, found",
    [
        ("see `s3-split`.", True),
        ("cards/s3-split.md", True),
        ("s3-split-v2", False),
        ("aws-s3-split", False),
        ("s3_split", False),
        ("S3-SPLIT", False),
    ],
)
def test_citation_is_a_whole_name(text, found):
    assert cites(text, "s3-split") is found


@pytest.mark.parametrize(
    "text, found",
    [
        ("acl = 1", True),
        ("acl=1", True),
        ("acl {", True),
        ("acl == 1", False),
        ("acl => 1", False),
        ("bucket_acl = 1", False),
        ("x.acl = 1", False),
        ("the acl is private", False),
    ],
)
def test_argument(text, found):
    assert has_argument(text, "acl") is found


def test_argument_within_one_type_only():
    text = 'resource "a" "one" { x { y = 1 } } resource "b" "two" { z = 1'
    assert has_argument(text, "y", "a") and not has_argument(text, "z", "a")
    assert has_argument(text, "z", "b") and not has_argument(text, "y", "b")
    assert not has_argument(text, "y", "c")


@pytest.mark.parametrize(
    "text, found",
    [
        ("terraform import aws_lb.x arn:1", True),
        ("$ terraform import -var-file=a.tfvars aws_lb.x arn:1", True),
        ("terraform import 'aws_lb.x[\"a\"]' arn:1", True),
        ("import {\n  to = aws_lb.x\n  id = 1\n}", True),
        ("terraform import aws_lb.x\n", False),
        ("terraform import aws_lb_listener.x arn:1", False),
        ("terraform import aws_lb arn:1", False),
        ("import { id = 1 } to = aws_lb.x", False),
    ],
)
def test_import(text, found):
    assert has_import(text, "aws_lb") is found
    assert not has_import(text, "aws_lb.y")
