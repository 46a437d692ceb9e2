"""What ``doctor`` says of the database that several servers share."""

from __future__ import annotations

from ops.doctor.check import DoctorCheck
from server.cluster.administration import ClusterReport, read_report
from server.cluster_settings import ClusterSettings
from vaults.errors import StrongroomError

NAME = "cluster"


def check_cluster(settings: ClusterSettings) -> DoctorCheck:
    """Whether the database is there with its tables, and servers are. Blocking."""
    try:
        report = read_report(settings, with_vaults=False)
    except StrongroomError as failure:
        said = failure.message.removeprefix("Validation error: ")
        return DoctorCheck(NAME, "error", f"the cluster's database: {said}", failure.hint or "")
    return to_check(report)


def to_check(report: ClusterReport) -> DoctorCheck:
    """A server that is silent is removed by the others; one whose neighbours are gone has nobody to take over."""
    servers = [each for each in report.servers if each.state != "command"]
    silent = [each.name or each.id for each in servers if each.is_silent]
    serving = [each for each in servers if not each.is_silent and each.state == "serving"]
    held = f"{report.totals.held:,} of {report.totals.vaults:,} vaults are held"
    names = [f"{each.name or each.id} at {each.address}: {each.state}, {each.vaults:,} vaults" for each in servers]
    if silent:
        todo = "look whether they run, and reach the database"
        return DoctorCheck(NAME, "warning", f"silent: {', '.join(silent)}; {held}", todo, names)
    if not serving:
        return DoctorCheck(NAME, "notice", f"no server runs; {held}", "strongroom serve starts one", names)
    if len(serving) == 1:
        return DoctorCheck(NAME, "notice", f"one server serves; {held}", "start another, to take over from it", names)
    return DoctorCheck(NAME, "ok", f"{len(serving)} servers serve; {held}", details=names)
