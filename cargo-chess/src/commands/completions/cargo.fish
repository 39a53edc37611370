
# `cargo chess ...` is completed as `cargo-chess ...`.
function __cargo_chess_words
    for word in (commandline -opc)[2..-1]
        if set -q seen
            echo $word
        else if test "$word" = chess
            set seen
        else if not string match -q -- '+*' $word
            return 1
        end
    end
    set -q seen
end

function __cargo_chess_complete
    set -l words (__cargo_chess_words)
    complete -C "cargo-chess "(string join ' ' -- (string escape -- $words) (commandline -ct))
end

complete -c cargo -n '__cargo_chess_words >/dev/null' -f -a '(__cargo_chess_complete)'
