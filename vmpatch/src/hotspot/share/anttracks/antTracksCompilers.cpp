/*
 * This code is part of the AntTracks patch for HotSpot. It is free software; you
 * can redistribute it and/or modify it under the terms of the GNU General Public
 * License version 2 only, as published by the Free Software Foundation, with the
 * "Classpath" exception as provided in the LICENSE file that accompanied this code.
 *
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */

#include "anttracks/antTracksCompilers.hpp"
#include "anttracks/antTracksMark.hpp"
#include "anttracks/antTracksOwnHash.hpp"
#include "anttracks/antTracksPretenure.hpp"
#include "anttracks/antTracksSiteTable.hpp"
#include "anttracks/antTracksVersion.hpp"
#ifdef COMPILER1
#include "c1/c1_IR.hpp"
#include "ci/ciStreams.hpp"
#include "c1/c1_ValueStack.hpp"
#endif
#ifdef COMPILER2
#include "opto/addnode.hpp"
#include "opto/callnode.hpp"
#include "opto/castnode.hpp"
#include "opto/convertnode.hpp"
#include "opto/mulnode.hpp"
#include "opto/phaseX.hpp"
#include "opto/subnode.hpp"
#endif

#ifdef COMPILER1
static uint32_t site_of_state(ValueStack* state) {
  if (state == NULL) return 0;
  const uint32_t caller = site_of_state(state->caller_state());
  Method* const method = (Method*)state->scope()->method()->constant_encoding();
  return AntTracksSiteTable::site(method, state->bci(), caller, ANTTRACKS_TIER_C1);
}

// The class that a bytecode new makes an object of. NULL: it is another bytecode.
static Klass* class_of_new(ValueStack* state) {
  ciBytecodeStream bytecode(state->scope()->method());
  bytecode.reset_to_bci(state->bci());
  if (bytecode.next() != Bytecodes::_new) return NULL;
  bool will_link;
  ciKlass* const klass = bytecode.get_klass(will_link);
  return will_link ? (Klass*)klass->constant_encoding() : NULL;
}

intptr_t AntTracksCompilers::c1_mark(CodeEmitInfo* info) {
  if (!AntTracksMark::has_sites()) return markWord::prototype().value();
  const intptr_t mark = AntTracksMark::with_site(site_of_state(info->stack())).value();
  return AntTracksOwnHash::eliminates(class_of_new(info->stack())) ? mark | AntTracksMark::no_random : mark;
}
#endif

#ifdef COMPILER2
static uint32_t site_of_state(JVMState* state) {
  if (state == NULL) return 0;
  const uint32_t caller = site_of_state(state->caller());
  if (!state->has_method()) return caller;
  Method* const method = (Method*)state->method()->constant_encoding();
  return AntTracksSiteTable::site(method, state->bci(), caller, ANTTRACKS_TIER_C2);
}

static intptr_t known_part(AllocateNode* allocation) {
  if (!AntTracksMark::has_sites()) return markWord::prototype().value();
  return AntTracksMark::with_site(site_of_state(allocation->jvms())).value();
}

// AntTracksHash::random_of the object.
static Node* random_of(PhaseGVN* phase, Node* obj, Node* control) {
  Node* n = phase->transform(new CastP2XNode(control, obj));
  n = phase->transform(new ConvL2INode(n));
  n = phase->transform(new MulINode(n, phase->intcon((jint)AntTracksHash::multiplier)));
  n = phase->transform(new URShiftINode(n, phase->intcon(AntTracksHash::random_right)));
  n = phase->transform(new AndINode(n, phase->intcon((jint)AntTracksHash::random_mask)));
  return phase->transform(new ConvI2LNode(n));
}

static bool is_eliminated(AllocateNode* allocation, PhaseGVN* phase) {
  const TypeKlassPtr* const type = phase->type(allocation->in(AllocateNode::KlassNode))->isa_klassptr();
  ciKlass* const klass = type != NULL && type->klass_is_exact() ? ANTTRACKS_EXACT_KLASS(type) : NULL;
  const bool known = klass != NULL && klass->is_instance_klass();
  return known && AntTracksOwnHash::eliminates((Klass*)klass->constant_encoding());
}

Node* AntTracksCompilers::c2_mark(AllocateNode* allocation, PhaseGVN* phase, Node* obj, Node* control) {
  Node* const known = phase->MakeConX(known_part(allocation));
  const bool random = AntTracksMark::has_random() && AntTracksMark::has_sites() && !is_eliminated(allocation, phase);
  return random ? new OrLNode(random_of(phase, obj, control), known) : known;
}

Node* AntTracksCompilers::c2_add_site(AllocateNode* allocation, PhaseGVN* phase, Node* mark) {
  if (!AntTracksMark::has_sites()) return mark;
  return new OrLNode(phase->transform(mark), phase->MakeConX(known_part(allocation)));
}

const Type* AntTracksCompilers::c2_mark_type(AllocateNode* allocation, const Type* otherwise) {
  return AntTracksMark::has_random() ? otherwise : TypeX::make(known_part(allocation));
}

bool AntTracksCompilers::c2_is_slow(AllocateNode* allocation) {
  return AntTracksSiteList::at_allocation() && AntTracksPretenure::is_old(known_part(allocation));
}

// With hash-eliminate, what has no random part has no hash. In scheme ash a mark that holds a site has one if the highest
// bit of the hash is set; that bit is taken away from those, so that what has none is 0 or less, and all else more.
Node* AntTracksCompilers::c2_no_hash(PhaseGVN* phase, Node* mark, Node* hash) {
  const bool ash = AntTracksMark::scheme() == ANTTRACKS_SITES_ASH && AntTracksMark::has_sites();
  if (AntTracksMark::eliminates()) {
    hash = phase->transform(new AndINode(hash, phase->intcon((1 << AntTracksHash::random_bits) - 1)));
  } else if (ash) {
    Node* n = phase->transform(new ConvL2INode(mark));
    n = phase->transform(new MulINode(n, phase->intcon((jint)(AntTracksHash::filled_hash / AntTracksHash::holds_site))));
    n = phase->transform(new AndINode(n, phase->intcon((jint)AntTracksHash::filled_hash)));
    hash = phase->transform(new SubINode(hash, n));
  }
  Node* const compared = phase->transform(new CmpINode(hash, phase->intcon((jint)markWord::no_hash)));
  return phase->transform(new BoolNode(compared, ash ? BoolTest::le : BoolTest::eq));
}
#endif
