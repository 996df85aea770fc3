package reconcile

// step is one line of a sequence; its parts are done in the order of the fields.
type step struct {
	// Note says what the step is for.
	Note string `json:"note"`
	// Restart starts a new life of the daemon on what the last one left.
	Restart bool `json:"restart"`
	// Services are made, with the addresses of their ready endpoints.
	Services map[string][]string `json:"services"`
	// Sync makes a file the whole of the next commit. Unless more is expected, its pass is waited for.
	Sync string `json:"sync"`
	// Ready waits until the Sync says that the commit is in.
	Ready bool `json:"ready"`
	// Touch starts passes over the same commit.
	Touch int `json:"touch"`
	// Connect opens a stream as edge-1 of the group edge; resume then asks for these types with what was acknowledged.
	Connect bool     `json:"connect"`
	Resume  []string `json:"resume"`
	// Subscribe asks for clusters, endpoints, listeners and routes, as Envoy does.
	Subscribe bool `json:"subscribe"`
	// Send sends one request.
	Send *request `json:"send"`
	// Expect is what the next answer must be.
	Expect *expectation `json:"expect"`
	// Order are answers that must come in this order; others may come between them.
	Order []sight `json:"order"`
	// None is for how long nothing may come.
	None string `json:"none"`
	// Status is what users must be shown.
	Status *statusWanted `json:"status"`
	// Repeat runs steps that often.
	Repeat int    `json:"repeat"`
	Steps  []step `json:"steps"`
}

type request struct {
	Type    string   `json:"type"`
	Names   []string `json:"names"`
	Version string   `json:"version"`
	Nonce   string   `json:"nonce"`
	Error   string   `json:"error"`
}

type expectation struct {
	Type         string   `json:"type"`
	Names        []string `json:"names"`
	NamesInclude []string `json:"namesInclude"`
	Hosts        []string `json:"hosts"`
	Clusters     []string `json:"clusters"`
	VersionNot   string   `json:"versionNot"`
	SaveVersion  string   `json:"saveVersion"`
	SaveNonce    string   `json:"saveNonce"`
	// Hold leaves it unacknowledged.
	Hold bool `json:"hold"`
}

type sight struct {
	Type  string `json:"type"`
	Has   string `json:"has"`
	Lacks string `json:"lacks"`
}

// statusWanted is a status: that of the Sync, or of a resource of ours by kind and name.
type statusWanted struct {
	Of       string `json:"of"`
	Contains string `json:"contains"`
	Lacks    string `json:"lacks"`
}
