package main

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/mock"
	"go.uber.org/mock/gomock"

	"github.com/petstore/petstore-go"
)

// lister has the one method that the tests below replace.
type lister interface {
	ListPets(context.Context, petstore.ListPetsParams, ...petstore.CallOption) (*petstore.ListPetsResult, error)
}

var _ lister = (*petstore.Client)(nil)

// listNow lists pets without a wait for the rate limit.
func listNow(ctx context.Context, pets lister) error {
	_, err := pets.ListPets(ctx, petstore.ListPetsParams{Limit: 5}, petstore.WithMaxWait(0))
	return err
}

// gomockLister is a mock as mockgen writes it.
type gomockLister struct{ ctrl *gomock.Controller }

func (m *gomockLister) ListPets(
	ctx context.Context, params petstore.ListPetsParams, opts ...petstore.CallOption,
) (*petstore.ListPetsResult, error) {
	m.ctrl.T.Helper()
	args := []any{ctx, params}
	for _, opt := range opts {
		args = append(args, opt)
	}
	results := m.ctrl.Call(m, "ListPets", args...)
	result, _ := results[0].(*petstore.ListPetsResult)
	err, _ := results[1].(error)
	return result, err
}

// expect is the recorder's method of a mock that mockgen writes.
func (m *gomockLister) expect(args ...any) *gomock.Call {
	return m.ctrl.RecordCallWithMethodType(m, "ListPets", reflect.TypeOf(m.ListPets), args...)
}

// failures takes what gomock reports.
type failures struct {
	gomock.TestReporter
	text string
}

func (f *failures) Errorf(string, ...any) {}

func (f *failures) Fatalf(format string, args ...any) {
	f.text = fmt.Sprintf(format, args...)
	panic(f)
}

func TestGomock(t *testing.T) {
	pets := &gomockLister{gomock.NewController(t)}
	pets.expect(gomock.Any(), petstore.ListPetsParams{Limit: 5}, petstore.WithMaxWait(0)).Return(nil, nil)
	if err := listNow(t.Context(), pets); err != nil {
		t.Error(err)
	}
	reported := new(failures)
	pets = &gomockLister{gomock.NewController(reported)}
	pets.expect(gomock.Any(), gomock.Any(), petstore.WithMaxWait(1)).Return(nil, nil)
	assert.Panics(t, func() { _ = listNow(t.Context(), pets) })
	assert.Contains(t, reported.text, "WithMaxWait(0s)")
	assert.Contains(t, reported.text, "WithMaxWait(1ns)")
}

// testifyLister is a mock of testify.
type testifyLister struct{ mock.Mock }

func (m *testifyLister) ListPets(
	ctx context.Context, params petstore.ListPetsParams, opts ...petstore.CallOption,
) (*petstore.ListPetsResult, error) {
	return nil, m.Called(ctx, params, opts).Error(1)
}

func TestTestify(t *testing.T) {
	pets := new(testifyLister)
	pets.On("ListPets", mock.Anything, petstore.ListPetsParams{Limit: 5}, []petstore.CallOption{petstore.WithMaxWait(0)}).Return(nil, nil)
	assert.NoError(t, listNow(t.Context(), pets))
	pets.AssertExpectations(t)

	pets = new(testifyLister)
	pets.On("ListPets", mock.Anything, mock.Anything, []petstore.CallOption{petstore.WithMaxWait(1)}).Return(nil, nil)
	defer func() {
		text, _ := recover().(string)
		assert.Contains(t, text, "WithMaxWait(0s)")
		assert.Contains(t, text, "WithMaxWait(1ns)")
	}()
	_ = listNow(t.Context(), pets)
}
