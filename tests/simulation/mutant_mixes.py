"""The mixes of actors that mutants are hunted with, so that what they break comes up soon, and the
names of the invariants that notice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simulation.choosing import PERSISTENCE
from simulation.mixes import WEATHER, Mix

if TYPE_CHECKING:
    from collections.abc import Mapping

I01 = "i01_revisions_never_change_but_into_stubs"
I02 = "i02_numbers_are_dense"
I03 = "i03_the_sidecar_follows_the_log"
I04 = "i04_an_acknowledged_publish_is_there"
I05 = "i05_one_revision_per_upload_id"
I06 = "i06_a_view_is_one_revision_and_not_an_old_one"
I07 = "i07_the_catalog_follows_the_head"
I08 = "i08_the_tree_is_the_head"
I09 = "i09_head_and_labelled_keep_their_bytes"
I10 = "i10_numbers_grow_past_a_deletion"
I11 = "i11_one_winner_per_base"
I12 = "i12_a_second_run_writes_nothing"
I13 = "i13_events_in_any_order_end_alike"
I14 = "i14_a_vendored_answer_is_one_state"
I15 = "i15_a_rebuilt_catalog_is_the_same"
I16 = "i16_no_conditional_write_is_repeated_unread"
I17 = "i17_validated_bytes_are_the_committed_ones"
I18 = "i18_the_sidecar_is_no_file"
ANSWERED = "l02_who_retries_is_answered"
SURPRISE = "l03_no_error_is_a_surprise"


def mix_of(
    kinds: Mapping[str, float],
    weather: tuple[str, ...] = tuple(WEATHER),
    *,
    actors: tuple[int, int] = (3, 6),
    events: tuple[str, ...] = ("delivered",),
    vendored: float = 0.0,
    history: tuple[int, int] = (1, 2),
    forked: float = 0.0,
    persistence: tuple[float, ...] = PERSISTENCE,
) -> Mix:
    """Return a mix on one skill, whose events all come, by what is special to it."""
    return Mix(
        kinds,
        actors=actors,
        skills=(1, 1),
        weather=weather,
        events=events,
        vendored=vendored,
        history=history,
        forked=forked,
        persistence=persistence,
    )


RETRIES = mix_of({"publish": 1, "twice": 1, "upload": 2}, ("crashes", "outages", "lost replies"))
RACES = mix_of({"publish": 3, "race": 1, "view": 2, "list": 1, "heal": 1}, ("calm", "crashes"))
EDITORS = mix_of({"race": 3, "create": 1, "delete": 1, "publish": 1}, ("calm", "conflicts"))
CRASHES = mix_of({"publish": 2, "upload": 1}, ("many crashes",), actors=(1, 2))
REMOVED = mix_of({"publish": 2, "sidecar": 2, "view": 1}, ("calm",))
CATALOGS = mix_of({"publish": 3, "refresh": 2, "list": 2, "catalog": 1}, ("calm",))
TREES = mix_of({"publish": 3, "project": 2, "heal": 1}, ("calm", "crashes"), actors=(3, 5))
EDITED = mix_of({"publish": 2, "tree": 3, "project": 1}, ("calm",), actors=(4, 8))
LABELS = mix_of({"publish": 1, "label": 2, "prune": 3, "unlabel": 0.5}, ("calm",), history=(2, 4))
PINS = mix_of({"view pins": 3, "prune": 2, "publish": 1, "label": 1}, ("calm",), history=(2, 4))
DIRECTORIES = mix_of(
    {"sync": 2, "view": 3, "publish": 1}, ("calm",), vendored=1.0, history=(0, 0), actors=(3, 6)
)
UPLOADS = mix_of({"upload": 1, "view": 1}, ("calm",), actors=(2, 5))
REPLACED = mix_of({"replaced": 1}, ("calm",), actors=(2, 3))
# Somebody has to sleep through another's whole publish, and through what an outsider does then.
DELETED_SIDECARS = mix_of(
    {"publish": 3, "remove sidecar": 1}, ("calm",), actors=(3, 4), persistence=(0.9,)
)
ONE_EVENT = mix_of({"sidecar": 1, "deliver": 3}, ("conflicts", "outages"))
PURGES = mix_of({"purge": 2, "publish": 1}, ("calm",), history=(2, 4))
DELETES = mix_of({"delete": 2, "publish": 1, "view": 1}, ("calm",))
ANEW = mix_of({"anew": 1}, ("calm",), actors=(1, 1), history=(1, 1))
FLOORS = mix_of({"publish": 1, "prune": 1}, ("calm",), actors=(4, 7), persistence=(0.6, 0.9))
