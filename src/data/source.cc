#include "ronde/data/source.h"
