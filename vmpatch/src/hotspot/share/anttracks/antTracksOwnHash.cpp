/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksOwnHash.hpp"
#include "classfile/vmClasses.hpp"
#include "classfile/vmSymbols.hpp"
#include "oops/instanceKlass.inline.hpp"
#include "oops/method.hpp"
#include "runtime/atomic.hpp"

Method* AntTracksOwnHash::_objects = NULL;
volatile int AntTracksOwnHash::_index = -1;

// Several threads may find it at once: they find the same.
bool AntTracksOwnHash::is_known() {
  if (Atomic::load_acquire(&_index) >= 0) return true;
  InstanceKlass* const object = vmClasses::Object_klass_loaded() ? vmClasses::Object_klass() : NULL;
  if (object == NULL || !object->is_linked()) return false;
  _objects = object->find_method(vmSymbols::hashCode_name(), vmSymbols::void_int_signature());
  Atomic::release_store(&_index, _objects->vtable_index());
  return true;
}

bool AntTracksOwnHash::overrides(const Klass* klass) {
  if (klass == NULL || !klass->is_instance_klass() || !is_known()) return false;
  InstanceKlass* const instance = InstanceKlass::cast(const_cast<Klass*>(klass));
  return instance->is_linked() && instance->method_at_vtable(_index) != _objects;
}
