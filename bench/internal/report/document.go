package report

// Documents returns the files for the folder of documents, by name.
func Documents(reports []*Report) map[string]string {
	return map[string]string{}
}
