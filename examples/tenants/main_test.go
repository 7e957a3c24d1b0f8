package main

func Example() {
	main()
	// Output:
	// zoo: 0 pets
	// farm: 0 pets
	// pond: 0 pets
	// The zoo gets another key, the farm is banned, the pond is stopped.
	// zoo: 0 pets
	// farm: rate limited
	// pond: stopped
}
