package source

import (
	"context"
	"io"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
)

const (
	// maxRefs bounds a remote's list of refs, maxPack what one fetch brings, maxRefusal what is read of a refusal.
	maxRefs    = 256 << 20
	maxPack    = 4 << 30
	maxRefusal = 4 << 10
)

// session is one conversation with git-upload-pack: the list of refs first, then at most one pack.
type session interface {
	refs(ctx context.Context) (*packp.AdvRefs, error)
	pack(ctx context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error)
	io.Closer
}

// httpSession is go-git's own, whose handling of redirects keeps credentials at the host that they are for.
type httpSession struct {
	transport.UploadPackSession
}

func (s httpSession) refs(ctx context.Context) (*packp.AdvRefs, error) {
	return s.AdvertisedReferencesContext(ctx)
}

func (s httpSession) pack(ctx context.Context, req *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	return s.UploadPack(ctx, req)
}

// limited ends in an error, not in EOF, where more than n bytes come.
type limited struct {
	r   io.Reader
	n   int64
	err error
}

func (l *limited) Read(p []byte) (int, error) {
	if l.n <= 0 {
		return 0, l.err
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.n)])
	l.n -= int64(n)
	return n, err
}
