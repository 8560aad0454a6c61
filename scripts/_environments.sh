# shellcheck shell=bash
# Virtual environments of the project's commands. Sourced, never run; works in bash 3.2 (macOS).
#
#   find_python               sets PYTHON to the first Python >= 3.11 that answers, or fails
#   ensure_environment NAME   makes .venvs/NAME from scripts/locks/NAME.txt where it is not there
#   ensure_environment NAME LOCK...   the same from the lock files that are named
#   environment_python NAME   prints the path of that environment's interpreter
#
# SKILL_REGISTRY_VENVS names another folder for the environments, SKILL_REGISTRY_PYTHON another
# interpreter to make them with. pip's own configuration (index, proxy, wheels) applies.

REGISTRY_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
REGISTRY_VENVS=${SKILL_REGISTRY_VENVS:-$REGISTRY_ROOT/.venvs}

say_and_fail() {
    printf '%s\n' "$*" >&2
    return 1
}

# Prints the real interpreter behind a command. A version manager's shim may be on PATH and still
# have none behind it, and Debian ships a Python that cannot make environments: only one that runs
# all of this counts.
_python_behind() {
    "$1" -c 'import ensurepip, sys, venv
if sys.version_info < (3, 11): sys.exit(1)
print(sys.executable)' 2>/dev/null
}

find_python() {
    local candidate
    for candidate in ${SKILL_REGISTRY_PYTHON:-python3 python3.13 python3.12 python3.11}; do
        if PYTHON=$(_python_behind "$candidate"); then
            return 0
        fi
    done
    say_and_fail "This needs Python 3.11 or newer with its venv module, and found none on PATH" \
        "(tried ${SKILL_REGISTRY_PYTHON:-python3, python3.13, python3.12, python3.11})."
}

environment_python() {
    printf '%s\n' "$REGISTRY_VENVS/$1/bin/python"
}

_environment_fingerprint() { # LOCK...
    "$PYTHON" -c 'import hashlib, pathlib, platform, sys
digest = hashlib.sha256(b"".join(pathlib.Path(name).read_bytes() for name in sys.argv[1:]))
print(platform.python_version(), platform.machine(), digest.hexdigest())' "$@"
}

_environment_is_current() { # DIRECTORY FINGERPRINT
    [ -x "$1/bin/python" ] && [ -f "$1/.stamp" ] && [ "$(cat "$1/.stamp")" = "$2" ]
}

# Changes with the locks and with the interpreter behind the link, without asking a Python.
_environment_sums() { # DIRECTORY LOCK...
    local directory=$1
    shift
    { cat "$@" && ls -lL "$directory/bin/python"; } 2>/dev/null | cksum
}

# Every skillctl asks this first, and starting a Python takes longer than all the rest. Not where an
# interpreter is named, which may be another one.
_environment_is_known() { # DIRECTORY LOCK...
    [ -z "${PYTHON:-}${SKILL_REGISTRY_PYTHON:-}" ] && [ -x "$1/bin/python" ] &&
        [ -f "$1/.stamp" ] && [ -f "$1/.sums" ] &&
        [ "$(cat "$1/.sums")" = "$(_environment_sums "$@")" ]
}

_environment_remember() { # DIRECTORY LOCK...
    { _environment_sums "$@" >"$1/.sums"; } 2>/dev/null || :
}

# Lock descriptor 9 until it is closed. The lock belongs to the open file, so it outlives the Python
# that takes it and ends with the last process that holds the descriptor: a killed run blocks nobody.
_environment_lock() { # NAME
    "$PYTHON" -c 'import fcntl, sys
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("Waiting for another run that installs", sys.argv[1], "...", file=sys.stderr)
    fcntl.flock(9, fcntl.LOCK_EX)' "$1"
}

# The pip beside the interpreter serves where it can install into other environments (22.3 and
# newer): unpacking another pip into each takes longer than what is then installed.
_environment_create() { # DIRECTORY
    "$PYTHON" -m venv --without-pip "$1" || return 1
    if "$PYTHON" -m pip --python "$1/bin/python" --version; then
        PIP=("$PYTHON" -m pip --python "$1/bin/python")
    else
        PIP=("$1/bin/python" -m pip)
        "$PYTHON" -m venv --clear "$1"
    fi
}

_environment_build() { # DIRECTORY NAME FINGERPRINT LOCK...
    local directory=$1 name=$2 fingerprint=$3 log="$1.log" lock PIP
    shift 3
    echo "Installing the $name environment (first run, or its lock changed) ..." >&2
    rm -rf "$directory"
    if ! _environment_create "$directory" >"$log" 2>&1; then
        say_and_fail "Python could not make the environment $directory; see $log."
        return 1
    fi
    # Without resolving: a lock is the whole closure, and pips up to 23 cannot match the hashes of a
    # package with extras that another one (aws-sam-cli) asks for.
    for lock in "$@"; do
        if ! "${PIP[@]}" install --quiet --disable-pip-version-check --no-input --no-deps \
            --require-hashes -r "$lock" >>"$log" 2>&1; then
            say_and_fail "The packages of $name could not be installed: a network or a package" \
                "index that pip is configured for is needed this once; see $log."
            return 1
        fi
    done
    _environment_remember "$directory" "$@"
    # Last, so that an interrupted install is never taken for a whole one.
    printf '%s\n' "$fingerprint" >"$directory/.stamp"
}

ensure_environment() { # NAME [LOCK...]
    local name=$1 directory="$REGISTRY_VENVS/$1" fingerprint status=0
    shift
    [ $# -gt 0 ] || set -- "$REGISTRY_ROOT/scripts/locks/$name.txt"
    if _environment_is_known "$directory" "$@"; then
        return 0
    fi
    [ -n "${PYTHON:-}" ] || find_python || return 1
    if ! fingerprint=$(_environment_fingerprint "$@" 2>/dev/null); then
        say_and_fail "The lock of the $name environment cannot be read: $*"
        return 1
    fi
    if _environment_is_current "$directory" "$fingerprint"; then
        _environment_remember "$directory" "$@"
        return 0
    fi
    if ! { mkdir -p "$REGISTRY_VENVS" && : >>"$directory.lock"; } 2>/dev/null; then
        say_and_fail "The folder $REGISTRY_VENVS for virtual environments cannot be written."
        return 1
    fi
    exec 9>>"$directory.lock"
    _environment_lock "$name" || return 1
    # Another run may have finished it while this one waited.
    if ! _environment_is_current "$directory" "$fingerprint"; then
        _environment_build "$directory" "$name" "$fingerprint" "$@" || status=1
    fi
    exec 9>&-
    return "$status"
}
