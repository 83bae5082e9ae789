package conformance

// Difference is answers of the reference API server that are not the real one's, and why.
type Difference struct {
	// Case is the name of the case, Steps are the numbers of its requests, from 1.
	Case  string
	Steps []int
	// Why is a sentence for the README.
	Why string
}

// The reasons that several differences share.
const (
	wording     = "The answer says the same in other words: those of the real server name its internals."
	unchecked   = "Names, labels, what is required and a few numbers are checked; what else can be wrong is not."
	accepted    = "The real server refuses it, as is said of another request here; this follows."
	deprecated  = "Nobody is warned of kinds and fields that the real server would rather be without."
	negotiation = "Forms of streams are not among those that are offered, and partial metadata comes as JSON or YAML alone."
	jobLabels   = "A job's own labels are not made of its template's."
	protection  = "There is no admission for it."
)

// Differences returns all known ones, sorted by case.
func Differences() []Difference {
	return append(differencesOfForms(), differencesOfKinds()...)
}

// differencesOfForms are those of how things are said, whatever the kind.
func differencesOfForms() []Difference {
	return []Difference{
		{"applies that are refused", []int{1}, "Who applies need not name the object twice."},
		{"applies that are refused", []int{3, 4, 13}, wording},
		{"applies that are refused", []int{11, 12}, "A version or identity that can't be is found before it is asked whether the object is there."},
		{"create config maps", []int{13}, "Times of a deletion that a client makes up are among the fields that it owns."},
		{"creates that are refused", []int{4, 5, 6, 7, 8, 9, 15, 18, 21, 22}, wording},
		{"creates that are refused", []int{19, 20}, wording},
		{"discovery", []int{7}, "Widgets have a second version here, for tests."},
		{"deletes", []int{5}, "Options of a delete are not asked what kind they are of."},
		{"deletes", []int{12, 13, 14, 15}, accepted},
		{"discovery", []int{8}, "Verbs are sorted for custom kinds, too."},
		{"discovery", []int{10, 11}, "A version that no group has is no path at all."},
		{"discovery", []int{13, 15}, "Only GET, and only the exact path, is discovery."},
		{"get an object", []int{9, 10}, "A version that is no number is the client's fault when one object is asked for, too."},
		{"get a custom object", []int{5}, negotiation},
		{"health", []int{4}, "Browsers are told in one more answer not to guess its type."},
		{"json patches", []int{8, 9, 13}, wording},
		{"json patches", []int{12}, "A patch that changes the identity is a conflict, as an update is."},
		{"merge patches", []int{5, 6, 10}, wording},
		{"merge patches", []int{13}, "What is wrong is told once."},
		{"methods", []int{13}, "The version is told whatever the method."},
		{"negotiation", []int{2, 3, 6, 8, 12, 13}, negotiation},
		{"options of lists that are refused", []int{12, 13}, wording},
		{"options of lists that are refused", []int{14}, "Browsers are told in one more answer not to guess its type."},
		{"owners", []int{1, 2, 3, 4}, "The validation is that of a newer apimachinery, which names the element."},
		{"owners", []int{6}, deprecated},
		{"partial metadata", []int{6, 7, 10}, negotiation},
		{"paths", []int{6, 8, 13}, "A version that no group has, or a path that is too long, is no path at all."},
		{"paths", []int{20}, "A name that can't be is not found."},
		{"sizes", []int{1, 4}, "Only the body's size is bounded."},
		{"strategic merge patches", []int{5, 6}, wording},
		{"update config maps", []int{9, 11, 14, 17}, wording},
		{"update config maps", []int{12}, "What is wrong is told once."},
		{"update config maps", []int{16}, "A deletion time in an update is ignored."},
		{"update custom objects", []int{7}, wording},
		{"updates that create", []int{2}, deprecated},
		{"updates that create", []int{4}, wording},
		{"watches that are refused", []int{9, 10, 11}, negotiation},
	}
}

// differencesOfKinds are those of what a kind is.
func differencesOfKinds() []Difference {
	return []Difference{
		{"bindings", []int{7, 8}, "A binding that can't be is the client's fault, as other invalid objects are."},
		{"bindings", []int{9}, "The name in a binding is not compared with the path's."},
		{"bindings", []int{10, 11, 12}, accepted},
		{"changes of pods that are refused", []int{2, 4, 5}, wording},
		{"config maps and secrets that are refused", []int{12, 13, 15, 16}, unchecked},
		{"defaults of pods", []int{3}, unchecked},
		{"defaults of services and the like", []int{5}, "A service with session affinity is not given a time for it."},
		{"defaults of services and the like", []int{6, 9}, deprecated},
		{"defaults of services and the like", []int{12}, "Limit ranges get no defaults."},
		{"defaults of services and the like", []int{20}, "A namespace that brings a finalizer gets no other one."},
		{"defaults of workloads", []int{5, 6}, jobLabels},
		{"defaults of workloads", []int{8}, unchecked},
		{"empty lists of every kind", []int{2}, deprecated},
		{"field selectors", []int{24}, "Replica sets can be selected by the number of replicas."},
		{"field selectors", []int{25, 27}, wording},
		{"finalizers", []int{5}, wording},
		{"finalizers", []int{9}, unchecked},
		{"names", []int{6, 7, 17}, "Rules of names are those of other kinds for services and events."},
		{"namespaces that go", []int{9, 10}, "A namespace with a finalizer of its metadata does not go by its spec alone."},
		{"other core kinds that are refused", []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16, 17, 18}, unchecked},
		{"other kinds that are refused", []int{1, 2, 3, 4, 5, 7, 8, 9, 14, 15, 16, 17, 18, 21}, unchecked},
		{"other kinds that are refused", []int{10}, "A list that is empty stays one."},
		{"other kinds that are refused", []int{20}, wording},
		{"pods that are refused", []int{7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24}, unchecked},
		{"pods that are refused", []int{25}, wording},
		{"pods that are refused", []int{26}, protection},
		{"propagation", []int{12, 14}, jobLabels},
		{"propagation", []int{13}, deprecated},
		{"services that are refused", []int{3, 6, 8, 10}, unchecked},
		{"status", []int{3, 4}, "Labels in an update of the status are ignored."},
		{"tables", []int{6, 17}, jobLabels},
		{"tables", []int{18}, deprecated},
		{"tables", []int{20, 28, 33}, "No rows are none in every kind."},
		{"tables", []int{39}, "Descriptions in a YAML table are folded elsewhere."},
		{"workloads that are refused", []int{1, 7, 8, 9, 12, 14, 19, 20, 22}, unchecked},
		{"workloads that are refused", []int{21, 23, 25}, jobLabels},
	}
}
