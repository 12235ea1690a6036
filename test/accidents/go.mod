// A module of its own, of the standard library alone: the product's tests and those on real components share it, and
// neither has to fit the other's requirements.
module github.com/argosy-hub/argosy/test/accidents

go 1.25.0
