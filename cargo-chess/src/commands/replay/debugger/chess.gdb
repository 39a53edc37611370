# The commands of `cargo chess replay --debugger gdb` for gdb: plain commands, no Python.
# The other side is runtime/src/harness/debugger/mod.rs: the memory that these commands read, with the
# text of a stop and its frame.

set print inferior-events off
set print thread-events off
# The explorer sees by such faults which pages an execution writes to.
handle SIGSEGV nostop noprint pass

define chess-here
  with language c -- printf "%s\n", *(char **) ($chess + 4)
  with language c -- set $chess_frame = $chess[1]
  if $chess_frame > 0
    frame $chess_frame
  end
end
document chess-here
Print again why cargo chess stopped here, and select the program's own frame.
end

define run-to-next-switch
  with language c -- set var $chess[0] = 2
  continue
end
document run-to-next-switch
Run until another task continues: after a preemption, or because this task waits, yields or ends.
`continue` stops only at preemptions, late effects, panics and the failure.
end

define tasks
  with language c -- printf "%s", *(char **) ($chess + 6)
end
document tasks
List the tasks and their states at the last stop of cargo chess; `info threads` lists their threads.
end

# Without what gdb says of threads, system libraries and languages.
pipe -d ! attach {PROCESS} ! cat > /dev/null
pipe -d ! break chess_stop ! cat > /dev/null
commands
  silent
  chess-here
end
pipe -d ! -- with language c -- set $chess = *(unsigned int **) &chess_debugger ! cat > /dev/null
with language c -- set var $chess[0] = 1
continue
