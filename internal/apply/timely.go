package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// answerTime is how long an answer of the API server may take; it gives up on a request itself after 60 s.
const answerTime = 70 * time.Second

// timely ends requests that are not answered, so that a pass cannot hang at one. A watch may last.
type timely struct {
	next  http.RoundTripper
	limit time.Duration
}

func (t timely) RoundTrip(req *http.Request) (*http.Response, error) {
	if watch := req.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		return t.next.RoundTrip(req)
	}
	late := fmt.Errorf("the API server did not answer within %s", t.limit)
	ctx, cancel := context.WithTimeoutCause(req.Context(), t.limit, late)
	res, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		if errors.Is(context.Cause(ctx), late) {
			err = late
		}
		cancel()
		return nil, err
	}
	res.Body = &timelyBody{ReadCloser: res.Body, done: cancel}
	return res, nil
}

// timelyBody lets go of the request's time when it has been read.
type timelyBody struct {
	io.ReadCloser

	done context.CancelFunc
}

func (b *timelyBody) Close() error {
	b.done()
	return b.ReadCloser.Close()
}
