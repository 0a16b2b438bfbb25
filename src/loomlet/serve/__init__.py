"""`python -m loomlet serve`: the command, its parent process and its workers."""
