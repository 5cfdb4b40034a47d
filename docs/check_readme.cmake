# The example in README.md is examples/quickstart.cpp, word for word.
file(READ ${ROOT}/README.md readme)
file(READ ${ROOT}/examples/quickstart.cpp example)
string(FIND "${readme}" "${example}" at)
if(at EQUAL -1)
  message(FATAL_ERROR "README.md does not hold examples/quickstart.cpp word for word")
endif()
