package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MockServer is how a mock behaves beyond what its document says. The zero value checks requests, allows every origin, and
// delays and fails nothing.
type MockServer struct {
	// ValidateRequests answers requests that do not fit the document with a problem (RFC 9457); true if left out.
	ValidateRequests *bool `json:"validateRequests,omitempty"`
	// CORS is what browsers of other origins may do; everything without credentials if left out.
	CORS MockCORS `json:"cors,omitzero"`
	// Delay of every answer, a Go duration or a range of two of them: 200ms or 100ms-300ms; 30s at most.
	// +kubebuilder:validation:MaxLength=40
	Delay string `json:"delay,omitempty"`
	// ErrorRate is the share of requests that are answered with status 500 instead, 0 to 1.
	ErrorRate Share `json:"errorRate,omitzero"`
	// Seed of all that is made up: equal seeds make up the same values, delays and errors in the same order.
	Seed int64 `json:"seed,omitempty"`
	// AccessLog writes a line for every request; true if left out.
	AccessLog *bool `json:"accessLog,omitempty"`
}

// Share is a part of a whole, a number from 0 to 1.
//
// +kubebuilder:validation:Type=number
// +kubebuilder:validation:Minimum=0
// +kubebuilder:validation:Maximum=1
type Share struct{ number json.Number }

// Value returns the share as a number; 0 if left out.
func (s Share) Value() float64 {
	v, _ := s.number.Float64() // it was read as one
	return v
}

// IsZero reports whether nothing was said.
func (s Share) IsZero() bool { return s.number == "" }

// UnmarshalJSON reads a JSON number.
func (s *Share) UnmarshalJSON(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || v < 0 || v > 1 {
		return fmt.Errorf("%s is no number from 0 to 1", text)
	}
	s.number = json.Number(text)
	return nil
}

// MarshalJSON writes the number as it was read.
func (s Share) MarshalJSON() ([]byte, error) { return json.Marshal(s.number) }

// MockCORS is what a mock tells browsers about requests from other origins (the Fetch standard's CORS protocol).
type MockCORS struct {
	// Enabled turns the answers to browsers on; true if left out.
	Enabled *bool `json:"enabled,omitempty"`
	// AllowOrigins are the origins that may ask, https://app.example.com, or * for all; all if left out.
	// +kubebuilder:validation:MaxItems=64
	AllowOrigins []string `json:"allowOrigins,omitempty"`
	// AllowHeaders may be sent; whatever is asked for if left out.
	// +kubebuilder:validation:MaxItems=64
	AllowHeaders []string `json:"allowHeaders,omitempty"`
	// ExposeHeaders may be read by scripts; all if left out and credentials are not allowed.
	// +kubebuilder:validation:MaxItems=64
	ExposeHeaders []string `json:"exposeHeaders,omitempty"`
	// AllowCredentials lets browsers send cookies and authorization; it needs allowOrigins without *.
	AllowCredentials bool `json:"allowCredentials,omitempty"`
	// MaxAge is how long a browser may keep the answer to a preflight, a Go duration; 10m if left out.
	// +kubebuilder:validation:Format=duration
	MaxAge *metav1.Duration `json:"maxAge,omitempty"`
}

// MaxMockDelay is the longest delay of a mock's answers.
const MaxMockDelay = 30 * time.Second

// Delays returns the bounds of the delay, equal ones where it is fixed.
func (s MockServer) Delays() (least, most time.Duration, err error) {
	if s.Delay == "" {
		return 0, 0, nil
	}
	from, to, isRange := strings.Cut(s.Delay, "-")
	least, err = time.ParseDuration(from)
	most = least
	if isRange && err == nil {
		most, err = time.ParseDuration(to)
	}
	if err != nil || least < 0 || most < least || most > MaxMockDelay {
		return 0, 0, fmt.Errorf("%q is no delay: want a duration up to %s, or a range: 200ms, 100ms-300ms", s.Delay, MaxMockDelay)
	}
	return least, most, nil
}

// Check says what is wrong with the origins.
func (c MockCORS) Check() error {
	for _, origin := range c.AllowOrigins {
		if origin == "*" {
			if c.AllowCredentials {
				return errors.New("allowCredentials needs the origins by name: browsers refuse it together with *")
			}
			continue
		}
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
			return fmt.Errorf("%q is no origin: want * or scheme and host, https://app.example.com", origin)
		}
	}
	if c.AllowCredentials && len(c.AllowOrigins) == 0 {
		return errors.New("allowCredentials needs allowOrigins: browsers refuse it for every origin")
	}
	return nil
}

// Answers reports whether browsers of other origins are answered.
func (c MockCORS) Answers() bool { return c.Enabled == nil || *c.Enabled }
