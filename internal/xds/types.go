package xds

import (
	_ "github.com/tidelock/tidelock/internal/envoyapi" // every extension that a raw resource may name
)
