package web

import (
	"errors"
	"net/http"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

type answering int

func (code answering) RoundTrip(*http.Request) (*http.Response, error) {
	if code == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{StatusCode: int(code), Body: http.NoBody}, nil
}

func TestRequestsAreCountedByTheVerbsOfTheAPIServer(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		reason, method, uri, contentType string
		code                             answering
		want                             string
	}{
		{"a list of the core group", "GET", "/api/v1/namespaces/shop/configmaps?limit=500", "", 200, "list 200 false"},
		{"a list of all Namespaces", "GET", "/api/v1/namespaces", "", 200, "list 200 false"},
		{"a Namespace", "GET", "/api/v1/namespaces/shop", "", 404, "get 404 false"},
		{"a subresource of a Namespace", "GET", "/api/v1/namespaces/shop/status", "", 200, "get 200 false"},
		{"a subresource", "GET", "/apis/apps/v1/namespaces/shop/deployments/web/scale", "", 200, "get 200 false"},
		{"a watch", "GET", "/apis/apps/v1/deployments?watch=true", "", 200, "watch 200 false"},
		{"discovery", "GET", "/apis/apps/v1", "", 200, "discover 200 false"},
		{"discovery of the core group", "GET", "/api/v1", "", 200, "discover 200 false"},
		{"the root", "GET", "/", "", 403, "discover 403 false"},
		{"server-side apply", "PATCH", "/api/v1/namespaces/shop/configmaps/a?fieldManager=tidelock", "application/apply-patch+yaml", 201, "apply 201 false"},
		{"its dry run", "PATCH", "/api/v1/namespaces/shop/configmaps/a?dryRun=All", "application/apply-patch+yaml", 200, "apply 200 true"},
		{"another patch", "PATCH", "/api/v1/namespaces/shop/configmaps/a", "application/merge-patch+json", 409, "patch 409 false"},
		{"a create", "POST", "/api/v1/namespaces/shop/configmaps", "application/json", 201, "create 201 false"},
		{"an update", "PUT", "/api/v1/namespaces/shop/configmaps/a", "application/json", 200, "update 200 false"},
		{"a delete", "DELETE", "/api/v1/namespaces/shop/configmaps/a", "", 200, "delete 200 false"},
		{"a delete of many", "DELETE", "/api/v1/namespaces/shop/configmaps", "", 200, "deletecollection 200 false"},
		{"no answer", "GET", "/api/v1/namespaces/shop", "", 0, "get 0 false"},
	} {
		reg := prometheus.NewRegistry()
		req, err := http.NewRequestWithContext(t.Context(), tc.method, "https://192.0.2.1"+tc.uri, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", tc.contentType)
		resp, err := CountRequests(reg)(tc.code).RoundTrip(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if got := counted(t, reg); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
		}
	}
}

// counted returns verb, code and dry_run of the one request that was counted.
func counted(t *testing.T, reg *prometheus.Registry) string {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "tidelock_api_requests_total" || len(f.GetMetric()) != 1 || f.GetMetric()[0].GetCounter().GetValue() != 1 {
			continue
		}
		label := map[string]string{}
		for _, l := range f.GetMetric()[0].GetLabel() {
			label[l.GetName()] = l.GetValue()
		}
		return label["verb"] + " " + label["code"] + " " + label["dry_run"]
	}
	return "nothing"
}
