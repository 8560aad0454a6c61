"""Every step of the protocol left out or done wrong, one mutant each, and who notices."""

from __future__ import annotations

from simulation.mutants_of_commits import COMMIT
from simulation.mutants_of_followers import DERIVED
from simulation.mutants_of_keepers import KEEPING
from simulation.mutants_of_views import READS, VISIBLE

MUTANTS = {mutant.name: mutant for mutant in (*COMMIT, *VISIBLE, *READS, *DERIVED, *KEEPING)}
