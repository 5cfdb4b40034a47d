# cmake -D VALGRIND=… -D PROGRAM=… -D OUTPUT=<folder> -D CASE=… [-D OVER=<case>] -D PER=<n> -D LIMIT=<n> -P count.cmake
# counts the instructions of one repetition of a case, less those of the case OVER, divided by PER; fails above LIMIT.
cmake_minimum_required(VERSION 3.22)
set(few 20)
set(many 60)

# total(<case> <repetitions> <variable>): all instructions of a run of the program.
function(total case repetitions variable)
  set(file ${OUTPUT}/callgrind.${CASE}.${case}.${repetitions})
  execute_process(
    COMMAND ${VALGRIND} --tool=callgrind --callgrind-out-file=${file} ${PROGRAM} ${case} ${repetitions}
    RESULT_VARIABLE status OUTPUT_VARIABLE log ERROR_VARIABLE log)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${case} failed under valgrind (${status}):\n${log}\n"
      "An unhandled instruction means that a source that the case runs must join the list in "
      "tests/instructions/CMakeLists.txt.")
  endif()
  file(STRINGS ${file} summary REGEX "^(summary|totals): [0-9]+")
  list(GET summary 0 summary)
  string(REGEX MATCH "[0-9]+" count "${summary}")
  set(${variable} ${count} PARENT_SCOPE)
endfunction()

# per_repetition(<case> <variable>)
function(per_repetition case variable)
  total(${case} ${few} less)
  total(${case} ${many} more)
  math(EXPR count "(${more} - ${less}) / (${many} - ${few})")
  set(${variable} ${count} PARENT_SCOPE)
endfunction()

per_repetition(${CASE} count)
if(OVER)
  per_repetition(${OVER} base)
  math(EXPR count "${count} - ${base}")
endif()
math(EXPR count "${count} / ${PER}")
message("${CASE}: ${count} instructions, at most ${LIMIT} are allowed")
if(count GREATER LIMIT)
  message(FATAL_ERROR "too many; callgrind_annotate ${OUTPUT}/callgrind.${CASE}.${CASE}.${many} shows where they are")
endif()
