"""Under which name an order stands in the record, and what lets nobody in."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from itsdangerous import BadData, URLSafeSerializer

from app.web import sessions
from tests.web.browsing import hidden, send, sign_in, text
from tests.web.conftest import API_TOKEN, TOKEN, Web

HEADER = "X-Forwarded-User"


@pytest.fixture
def proxied(make_web: Callable[..., Web]) -> Web:
    """A site whose proxy signs people in, and that has no API token."""
    return make_web(user_header=HEADER, api_tokens=None)


def _actor(web: Web, **headers: str) -> str:
    """Who paused, when the API was asked to with these headers."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    answer: Any = web.client.post("/api/v1/pause", json={"reason": "x"}, headers=given)
    assert answer.status_code == 200, answer.text
    return str(answer.json["actor"])


BEARER = f"Bearer {API_TOKEN}"


@pytest.mark.parametrize(
    ("line", "claimed", "actor"),
    [
        (API_TOKEN, "", "api token"),
        (API_TOKEN, "ana", "ana (api token)"),
        (API_TOKEN, "sickbay", "sickbay (api token)"),
        (API_TOKEN, "  a\tn  a ", "a n a (api token)"),
        (API_TOKEN, "x" * 100, f"{'x' * 64} (api token)"),
        (f"ana {API_TOKEN}", "", "ana"),
        (f"ana\t{API_TOKEN}", "bob", "ana"),
        (f"Sickbay {API_TOKEN}", "", "Sickbay (a person)"),
        (f"alert {API_TOKEN}", "", "alert (a person)"),
    ],
)
def test_a_token_is_recorded_by_its_name_or_by_what_its_sender_says_marked_as_such(
    web: Web, line: str, claimed: str, actor: str
) -> None:
    web.api_tokens.write_text(f"other some-other-long-token\n{line}\n")

    assert _actor(web, Authorization=BEARER, X_Sickbay_Actor=claimed) == actor


def test_a_name_in_utf8_is_read_as_such(web: Web) -> None:
    name = "Zoë".encode().decode("latin-1")

    assert _actor(web, Authorization=BEARER, X_Sickbay_Actor=name) == "Zoë (api token)"


def test_a_name_in_the_file_is_no_token(web: Web) -> None:
    web.api_tokens.write_text(f"ana {API_TOKEN}\n")

    assert web.order("pause", token="ana").status_code == 401
    assert web.order("pause", token=f"ana {API_TOKEN}").status_code == 401


def test_the_proxys_user_orders_without_a_token(proxied: Web) -> None:
    assert _actor(proxied, X_Forwarded_User="ana") == "ana"


def test_a_person_whose_name_is_sickbays_own_is_marked_as_a_person(proxied: Web) -> None:
    assert _actor(proxied, X_Forwarded_User="sickbay") == "sickbay (a person)"


@pytest.mark.parametrize("given", ["", "  ", "eve,ana", "eve, ana"])
def test_a_proxy_that_names_nobody_or_two_lets_nobody_in(proxied: Web, given: str) -> None:
    answer = proxied.client.post("/api/v1/pause", json={"reason": "x"}, headers={HEADER: given})

    assert answer.status_code == 401
    assert "Read-only" in proxied.client.get("/", headers={HEADER: given}).text


def test_a_users_header_is_not_believed_unless_it_is_configured(web: Web) -> None:
    assert web.client.post("/api/v1/pause", json={"reason": "x"}, headers={HEADER: "ana"}).status_code == 401
    assert "Read-only" in web.client.get("/", headers={HEADER: "ana"}).text


def test_an_order_by_the_proxys_user_is_json_which_no_page_of_another_site_can_send(proxied: Web) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = proxied.client.post(
            "/api/v1/pause", data='{"reason": "x"}', content_type=kind, headers={HEADER: "ana"}
        )
        assert answer.status_code == 400
    assert proxied.store.pause.get() is None


def test_a_session_begins_with_the_token_and_says_so_on_each_page(web: Web) -> None:
    assert "Read-only. Sign in to give orders." in text(web.client.get("/").text)

    answer = sign_in(web.client, onward="/offenders")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/offenders")
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert API_TOKEN not in cookie
    assert "Signed in as ana (api token) ." in text(web.client.get("/").text)


def test_the_cookie_is_secure_where_browsers_come_by_https(make_web: Callable[..., Web]) -> None:
    assert "; Secure" not in sign_in(make_web().client).headers["Set-Cookie"]
    assert "; Secure" in sign_in(make_web(https=True).client).headers["Set-Cookie"]


def test_a_token_with_a_name_needs_no_other(web: Web) -> None:
    web.api_tokens.write_text(f"ana {API_TOKEN}\n")
    sign_in(web.client, name="bob")

    assert "Signed in as ana ." in text(web.client.get("/").text)


@pytest.mark.parametrize(
    ("name", "token", "status", "told"),
    [
        ("ana", "wrong", 401, "This token is not one of those accepted here."),
        ("ana", "webhook-token-one", 401, "This token is not one of those accepted here."),
        (" ", API_TOKEN, 400, "Say who you are: this token does not."),
        ("\x1b\u202e", API_TOKEN, 400, "Say who you are: this token does not."),
    ],
)
def test_who_has_no_token_or_no_name_is_not_let_in(web: Web, name: str, token: str, status: int, told: str) -> None:
    answer = sign_in(web.client, name=name, token=token)

    assert answer.status_code == status
    assert told in answer.text
    assert token not in answer.text
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("onward", ["https://evil.example", "//evil.example", "/\\evil.example", "x", "/\x00", ""])
def test_signing_in_leads_to_this_site_only(web: Web, onward: str) -> None:
    assert sign_in(web.client, onward=onward).headers["Location"] == "/"


def test_a_session_ends_by_itself_by_signing_out_and_with_its_token(web: Web) -> None:
    for end in ("time", "sign-out", "token"):
        sign_in(web.client)
        page = web.client.get("/")
        assert "Signed in as" in page.text, end
        if end == "time":
            web.clock.forward(timedelta(hours=12))
        elif end == "sign-out":
            proof = hidden(page.text, before="</body>")["proof"]
            assert web.client.post("/sign-out", data={"proof": proof}).status_code == 303
        else:
            web.api_tokens.write_text("another-long-token\n")
        assert "Read-only" in web.client.get("/").text, end


def test_a_session_outlives_the_rotation_in_which_its_token_is_still_there(web: Web) -> None:
    sign_in(web.client)
    web.api_tokens.write_text(f"{API_TOKEN}\nthe-new-long-token\n")

    assert "Signed in as" in web.client.get("/").text


def test_a_forged_or_altered_cookie_is_nobody(web: Web) -> None:
    sign_in(web.client)
    cookie = web.client.get_cookie("sickbay_session")
    assert cookie is not None
    name, dot, seal = cookie.value.partition(".")
    for forged in ("", "x", f"{name}x{dot}{seal}", f"{name}{dot}{seal[:-2]}", f"{name}.", hidden_proof(web)):
        web.client.set_cookie("sickbay_session", forged)
        assert "Read-only" in web.client.get("/").text, forged


def test_who_holds_a_token_is_read_from_the_file_and_not_from_the_cookie(web: Web) -> None:
    web.api_tokens.write_text(f"bob {API_TOKEN}\n")
    sign_in(web.client, name="eve")
    for lines, name in (
        (f"ana {API_TOKEN}\nbob bobs-own-long-token\n", "ana"),
        (f"bob bobs-own-long-token\n{API_TOKEN}\n", "eve (api token)"),
    ):
        web.api_tokens.write_text(lines)
        assert f"Signed in as {name} ." in text(web.client.get("/").text)


@pytest.mark.parametrize(
    "payload", [["bob"], ["of bobs-own-long-token", ""], ["of bobs-own-long-token", "bob"], ["", "bob"]]
)
def test_ana_cannot_sign_a_session_of_bob(web: Web, payload: list[str]) -> None:
    web.api_tokens.write_text(f"ana {API_TOKEN}\nbob bobs-own-long-token\n")
    marked = ["0" * 64 if word.startswith("of ") else word for word in payload]
    until = int((web.clock.now + timedelta(hours=1)).timestamp())

    forged = URLSafeSerializer([API_TOKEN.encode()], salt="sickbay session", signer_kwargs=sessions._SIGNED)

    web.client.set_cookie("sickbay_session", str(forged.dumps([*marked, until])))

    assert "Read-only" in web.client.get("/").text


def test_no_session_outlasts_its_longest_life_whatever_its_cookie_says(web: Web) -> None:
    begun = web.clock.now
    web.clock.forward(timedelta(days=3650))
    sign_in(web.client)

    web.clock.now = begun

    assert "Read-only" in web.client.get("/").text


def test_a_session_is_read_by_a_replica_whose_clock_is_a_little_behind(web: Web) -> None:
    sign_in(web.client)
    web.clock.forward(-timedelta(seconds=30))

    assert "Signed in as" in web.client.get("/").text


def test_signing_out_reads_no_more_than_a_form(web: Web) -> None:
    sign_in(web.client)

    assert web.client.post("/sign-out", data={"proof": "x" * 20_000}).status_code == 413


def hidden_proof(web: Web) -> str:
    """A proof of a form, which is signed with the same token for another purpose."""
    return hidden(web.client.get("/sign-in").text)["proof"]


def test_a_session_is_nothing_to_the_api(web: Web) -> None:
    sign_in(web.client)

    assert web.client.post("/api/v1/pause", json={"reason": "x"}).status_code == 401


def test_where_no_token_is_configured_nobody_signs_in(make_web: Callable[..., Web]) -> None:
    web = make_web(api_tokens=None)

    assert web.client.get("/sign-in").status_code == 404
    assert "Read-only: no proxy and no API token says who you are." in text(web.client.get("/").text)


def test_a_page_is_shown_although_the_token_file_is_gone(web: Web) -> None:
    sign_in(web.client)
    web.api_tokens.unlink()

    assert web.client.get("/").status_code == 200
    assert web.client.get("/sign-in").status_code == 503


def test_what_signs_people_in_is_never_cached(web: Web) -> None:
    assert "no-store" in web.client.get("/sign-in").headers["Cache-Control"]
    assert "private" in web.client.get("/").headers["Cache-Control"]


def test_no_page_shows_what_is_secret(web: Web) -> None:
    sign_in(web.client)
    for path in ("/", "/pause", "/sign-in"):
        assert not re.search(f"{API_TOKEN}|webhook-token-one", web.client.get(path).text)


def test_the_proof_of_one_person_is_none_for_another(proxied: Web) -> None:
    shown = hidden(proxied.client.get("/pause", headers={HEADER: "eve"}).text)

    answer = proxied.client.post("/pause", data={**shown, "reason": "x"}, headers={HEADER: "ana"})

    assert answer.status_code == 403
    assert proxied.store.pause.get() is None
    assert send(proxied.client, "/pause", {HEADER: "ana"}, reason="x").status_code == 303


def test_what_browsers_carry_is_signed_with_a_random_key_of_the_store(web: Web) -> None:
    sign_in(web.client)
    cookie = web.client.get_cookie("sickbay_session")
    assert cookie is not None
    # Neither token of this site verifies it: who finds a cookie has nothing to try tokens against.
    for token in (API_TOKEN, TOKEN):
        with pytest.raises(BadData):
            URLSafeSerializer(token, salt="sickbay session", signer_kwargs=sessions._SIGNED).loads(cookie.value)
    assert web.store.signing_key.read() == web.store.signing_key.read()
    assert len(web.store.signing_key.read()) == 64

    web.store.signing_key._link.ask("DEL", "sickbay:signing-key")

    assert "Read-only" in web.client.get("/").text


def test_of_two_replicas_that_make_the_key_at_the_same_moment_both_have_the_first(web: Web) -> None:
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: web.store.signing_key.read(), range(40)))

    assert len(set(keys)) == 1
