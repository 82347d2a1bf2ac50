from __future__ import annotations

from datetime import timedelta

import pytest

from app.errors import ConfigurationError, PermanentPortError, PortError, SickbayError, TemporaryPortError

WRONG_MODE = "'actt' is not a mode."


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (
            ConfigurationError(
                WRONG_MODE,
                file="config/policy.yaml",
                line=12,
                path="pools[0].mode",
                remedy="Use one of: observe, cordon, approve, act.",
            ),
            "config/policy.yaml:12: pools[0].mode: 'actt' is not a mode. Use one of: observe, cordon, approve, act.",
        ),
        (ConfigurationError(WRONG_MODE), "'actt' is not a mode."),
        (ConfigurationError(WRONG_MODE, file="SICKBAY_MODE"), "SICKBAY_MODE: 'actt' is not a mode."),
        (ConfigurationError(WRONG_MODE, path="pools[0].mode"), "pools[0].mode: 'actt' is not a mode."),
    ],
)
def test_a_configuration_error_says_where_what_and_what_would_be_right(
    error: ConfigurationError, sentence: str
) -> None:
    assert str(error) == sentence


def test_a_temporary_failure_carries_the_pause_that_was_asked_for() -> None:
    error = TemporaryPortError("The API server asks for a pause.", retry_after=timedelta(seconds=7))

    assert (str(error), error.retry_after) == ("The API server asks for a pause.", timedelta(seconds=7))


def test_a_port_failure_is_one_of_two_kinds() -> None:
    assert {kind.__name__ for kind in PortError.__subclasses__()} == {"TemporaryPortError", "PermanentPortError"}
    assert issubclass(PermanentPortError, SickbayError)
