
# `cargo chess ...` is completed as `cargo-chess ...`, all else by what completed cargo before.
_cargo_with_chess() {
    local at=1
    while [[ $at -lt $COMP_CWORD && ${COMP_WORDS[at]} == +* ]]; do
        ((at++))
    done
    if [[ $at -lt $COMP_CWORD && ${COMP_WORDS[at]} == chess ]]; then
        COMP_WORDS=(cargo-chess "${COMP_WORDS[@]:at+1}")
        ((COMP_CWORD -= at))
        _cargo__chess cargo-chess "$2" "$3"
        return
    fi
    # bash-completion loads cargo's own only when it is asked for.
    if [[ -z ${_cargo_before_chess:-} ]] && declare -F _completion_loader >/dev/null; then
        _completion_loader cargo
        _cargo_take_over_by_chess
    fi
    if [[ -n ${_cargo_before_chess:-} ]]; then
        "$_cargo_before_chess" "$@"
    fi
}

_cargo_take_over_by_chess() {
    local before
    before=$(complete -p cargo 2>/dev/null)
    if [[ $before =~ \ -F\ ([^ ]+) && ${BASH_REMATCH[1]} != _cargo_with_chess ]]; then
        _cargo_before_chess=${BASH_REMATCH[1]}
    fi
    complete -F _cargo_with_chess -o nosort -o bashdefault -o default cargo
}

_cargo_take_over_by_chess
