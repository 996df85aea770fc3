package mock

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidelock/tidelock/api/v1alpha1"
)

// cors answers browsers of other origins, as the Fetch standard has it. Values are ready for headers.
type cors struct {
	any         bool
	origins     []string
	headers     []string // nil: those that are asked for
	expose      []string
	credentials bool
	maxAge      []string
	star        []string
}

func newCORS(from v1alpha1.MockCORS) *cors {
	const keep = 10 * time.Minute
	age := keep
	if from.MaxAge != nil {
		age = from.MaxAge.Duration
	}
	c := &cors{
		any:         len(from.AllowOrigins) == 0 || slices.Contains(from.AllowOrigins, "*"),
		origins:     from.AllowOrigins,
		credentials: from.AllowCredentials,
		maxAge:      []string{strconv.Itoa(int(age.Seconds()))},
		star:        []string{"*"},
	}
	if len(from.AllowHeaders) > 0 {
		c.headers = []string{strings.Join(from.AllowHeaders, ", ")}
	}
	switch {
	case len(from.ExposeHeaders) > 0:
		c.expose = []string{strings.Join(from.ExposeHeaders, ", ")}
	case !from.AllowCredentials:
		c.expose = c.star
	}
	return c
}

// allow writes what a browser needs to show the answer to a script; false where the origin may not have it.
func (c *cors) allow(h http.Header, origin []string) bool {
	if c.any {
		h["Access-Control-Allow-Origin"] = c.star
	} else {
		h.Add("Vary", "Origin")
		if !slices.Contains(c.origins, origin[0]) {
			return false
		}
		h["Access-Control-Allow-Origin"] = origin
	}
	if c.credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	return true
}

// cross writes the headers of an answer to another origin. It reports whether the request was a preflight, which is
// answered then. The preflight to a path that is not there is answered too: a script may read the 404 that follows.
func (c *call) cross() bool {
	x, origin := c.api.cors, c.r.Header["Origin"]
	if x == nil || len(origin) != 1 {
		return false
	}
	h := c.w.Header()
	allowed := x.allow(h, origin)
	asked := c.r.Header["Access-Control-Request-Method"]
	if c.r.Method != http.MethodOptions || len(asked) != 1 {
		if allowed && x.expose != nil {
			h["Access-Control-Expose-Headers"] = x.expose
		}
		return false
	}
	if allowed {
		c.preflight(h, asked)
	}
	c.empty(http.StatusNoContent)
	return true
}

func (c *call) preflight(h http.Header, asked []string) {
	x := c.api.cors
	h["Access-Control-Allow-Methods"] = asked
	if ops, _ := c.api.find(c.r); ops != nil {
		h["Access-Control-Allow-Methods"] = ops.allow
	}
	h["Access-Control-Max-Age"] = x.maxAge
	if x.headers != nil {
		h["Access-Control-Allow-Headers"] = x.headers
	} else if want := c.r.Header["Access-Control-Request-Headers"]; want != nil {
		h["Access-Control-Allow-Headers"] = want
	}
}
