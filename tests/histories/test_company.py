"""Ours beside deltalake and PyIceberg, all writing one table: ``python -m tests.histories company`` takes longer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from .company import COMPANIES, Company, kept


@pytest.mark.parametrize(("name", "peer"), [("deltalake, disk", "deltalake"), ("PyIceberg, disk", "pyiceberg")])
def test_nothing_is_lost_in_mixed_company(name: str, peer: str) -> None:
    pytest.importorskip(peer)
    company = replace(COMPANIES[name], writers=COMPANIES[name].writers[1:3])
    found = kept(company, 60, steps=6)
    assert found.violations == []
    assert min(found.counts[writer, "ok"] for writer in company.writers) > 1, found.counts


def test_a_writer_that_checks_and_then_renames_is_found() -> None:
    found = kept(Company("delta", "disk", ("tableformats", "careless", "careless")), 60, steps=12)
    assert any("is lost" in what for what in found.violations), found
