// Package roots reads what the files of a hub's bootstrap folder say: which queries its
// ApplicationSets send, which projects there are, and which repositories Argo CD reads.
//
//		Read(snapshot, hub) -> Roots
//
//	 1. It reads fleet/bootstrap/<hub>.yaml and the files below fleet/bootstrap/<hub>. It renders
//	    nothing: package expand follows the pipeline to its end.
//	 2. An Application of charts/hub stands for what the chart makes of its values.
//	 3. What else may make ApplicationSets or projects leaves the Roots Open: then nothing can be
//	    said of what is missing.
package roots
