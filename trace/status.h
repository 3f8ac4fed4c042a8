// SPDX-License-Identifier: Apache-2.0
// Status: success, or a sentence that says what failed. Result<T>: a value or a Status.
//
// Thread safety: that of any value type. Success allocates nothing.
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace anttracks::trace {

class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status Error(std::string message) {
    Status status;
    status.message_ = message.empty() ? std::string("unknown error") : std::move(message);
    return status;
  }

  bool ok() const { return message_.empty(); }
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(status.ok() ? Status::Error("no value and no error") : std::move(status)) {}

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  const std::string& message() const { return status_.message(); }
  // Only if ok().
  T& value() { return *value_; }
  const T& value() const { return *value_; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace anttracks::trace
