// SPDX-License-Identifier: Apache-2.0
#include "agent/io/aside.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "agent/base/own_thread.h"

namespace anttracks::io {

using trace::Status;

struct Aside::State {
  std::mutex mutex;
  std::condition_variable ended;
  // Guarded by mutex.
  bool busy = false;
  Status status;
};

struct Aside::Job {
  std::function<Status()> task;
  std::shared_ptr<State> state;
};

Aside::Aside() : state_(std::make_shared<State>()) {}

Status Aside::Run(const std::string& failed, std::function<Status()> task, std::chrono::milliseconds limit) {
  auto job = std::make_unique<Job>(Job{std::move(task), state_});
  std::unique_lock lock(state_->mutex);
  if (state_->busy) return Status::Error(failed + ": the disk has not answered since the last time");
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  pthread_t thread;
  const int error = pthread_create(&thread, nullptr, &Aside::Main, job.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0)
    return Status::Error(failed + ": cannot start a thread: " + std::generic_category().message(error));
  (void)job.release();
  pthread_detach(thread);
  state_->busy = true;
  if (state_->ended.wait_for(lock, limit, [this] { return !state_->busy; })) return state_->status;
  return Status::Error(failed + ": no answer from the disk within " + std::to_string(limit.count()) + " ms");
}

void* Aside::Main(void* argument) {
  core::BeginOwnThread("anttracks-aside");
  const std::unique_ptr<Job> job(static_cast<Job*>(argument));
  Status status;
  try {
    status = job->task();
  } catch (const std::exception&) {
    status = Status::Error("not enough memory");
  }
  job->task = nullptr;
  const std::lock_guard lock(job->state->mutex);
  job->state->status = std::move(status);
  job->state->busy = false;
  job->state->ended.notify_all();
  return nullptr;
}

}  // namespace anttracks::io
