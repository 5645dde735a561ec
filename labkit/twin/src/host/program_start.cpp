// Linked into each program that `labkit run` builds: starts the twin before anything of the program's own.
namespace twin {
void program_begin();
}
__attribute__((constructor(101))) static void begin() { twin::program_begin(); }
