# shellcheck shell=bash
# Finds the Python that the functions run on. Sourced, never run; works in bash 3.2 (macOS).
#
#   find_python313   sets PYTHON313 to a python3.13 that answers, or says in one sentence what is
#                    missing and fails. Its folder belongs in front of PATH for `sam build`.

_python313_answers() {
    "$1" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info[:2] != (3, 13))' >/dev/null 2>&1
}

find_python313() {
    local candidate
    candidate=$(command -v python3.13 || true)
    # A pyenv shim is on PATH for every version that was ever installed, and runs only the selected
    # ones; the interpreter behind it can be called without selecting it.
    set -- ${candidate:+"$candidate"}
    if command -v pyenv >/dev/null 2>&1; then
        set -- "$@" "$(pyenv root)"/versions/3.13*/bin/python3.13
    fi
    for candidate in "$@"; do
        if _python313_answers "$candidate"; then
            PYTHON313=$("$candidate" -c 'import sys; print(sys.executable)')
            return 0
        fi
    done
    echo "This needs a Python 3.13 with its venv module, as python3.13 on PATH: the functions run on" \
        "that version, and bytecode is made for it." >&2
    return 1
}
