#include "ronde/models/network.h"
