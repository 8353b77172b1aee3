import { GatewayError } from '../base/errors.ts'
import type { Member } from '../base/json/scan.ts'
import type { Identity } from '../config/identity.ts'
import type { RequestBody } from '../formats/request-body.ts'
import {
  duplicate,
  enter,
  foldName,
  hintOf,
  type ModelPlaces,
  otherSpelling,
  type PlaceVisitor,
  visitPlaces,
  visitText,
} from '../formats/shared/model-places.ts'
import type { Router } from './router.ts'

/** A call whose request may name models beside its own. */
export interface NamingCall {
  readonly request: RequestBody
  /** An upload's fields, which stand in no body text. */
  readonly form?: { readonly parts: readonly { readonly name: string; readonly text?: string }[] } | undefined
  readonly modelPlaces: ModelPlaces
}

/** From here on the members of a body have been looked up when it was read. */
const scannedChars = 32_768

/**
 * Checks every model that a request names against its caller's list, before any upstream is called. Members that choose a model without naming it
 * are refused for callers that have a list. A duplicate or another spelling of such a member is refused for everybody at the top of the
 * request, and anywhere in it for callers that have a list: upstreams would read another one than was checked.
 *
 * A name is compared with the list as the client wrote it: the upstream gets it unchanged, and needs no route here.
 *
 * @throws GatewayError `model_not_found`, `permission` or `invalid_request`
 */
export function checkNamedModels(call: NamingCall, router: Router, identity: Identity | null): void {
  const { request, form, modelPlaces } = call
  if (!isLimited(identity)) {
    refuseAmbiguous(call)
    return
  }
  const visitor = visitorFor(modelPlaces, router, identity)
  if (form !== undefined) visitForm(form.parts, modelPlaces, visitor)
  else if (request.outline !== undefined) visitPlaces(request.bytes, request.outline.members, modelPlaces.root, visitor)
  else visitPlaces(request.text, request.members, modelPlaces.root, visitor)
}

/** Whether a caller may use some models only. */
export const isLimited = (identity: Identity | null): identity is Identity & { readonly models: readonly string[] } =>
  identity?.models !== undefined && !identity.models.includes('*')

/** Asks the caller's list. */
export function visitorFor({ list }: ModelPlaces, router: Router, identity: Identity | null): PlaceVisitor {
  return {
    name: (name, path) => router.checkName(name, identity, path, list.protobuf === true),
    choice(path) {
      throw new GatewayError(
        'permission',
        `'${path}' chooses a model without naming one from the list that your access is limited to: leave it out.`,
        { param: path },
      )
    },
  }
}

/** A field's name is a path with brackets: `svg[model]`, `image[]`. */
function visitForm(
  parts: NonNullable<NamingCall['form']>['parts'],
  { root }: ModelPlaces,
  visitor: PlaceVisitor,
): void {
  for (const { name, text = '' } of parts) {
    let node = root
    let path = ''
    const segments = name.split(/[.[\]]+/).filter((segment) => segment !== '' && Number.isNaN(Number(segment)))
    for (const segment of segments) {
      const next = enter(node, segment, new Set(), path === '' ? '' : `${path}.`)
      if (next === undefined) break
      node = next
      path += path === '' ? segment : `.${segment}`
      // Also for `models[x]`: what stands within a name's brackets is no path that is known.
      visitText(text, node, path, visitor)
    }
  }
}

/** What is refused whoever sends it. Costs a look at each top-level key, and one at the text for a second `model`. */
function refuseAmbiguous({ request, modelPlaces: { topLevel, hints } }: NamingCall): void {
  const { outline } = request
  if (outline !== undefined || request.text.length >= scannedChars) {
    refuseAmong((outline ?? request).members, topLevel)
    return
  }
  let further = false
  for (const key in request.value) {
    if (key === 'model' || (!hints.has(hintOf(key)) && key.charCodeAt(0) < 128)) continue
    const declared = topLevel.get(foldName(key))
    if (declared === undefined) continue
    if (declared !== key) throw otherSpelling(key, declared)
    further = true
  }
  if (further || mayNameModelTwice(request.text)) refuseAmong(request.members, topLevel)
}

function refuseAmong(members: readonly Member[], topLevel: ReadonlyMap<string, string>): void {
  const seen = new Set<string>()
  for (const { key } of members) {
    const declared = topLevel.get(foldName(key))
    if (declared === undefined) continue
    if (declared !== key) throw otherSpelling(key, declared)
    if (seen.has(key)) throw duplicate(key)
    seen.add(key)
  }
}

const quote = 0x22

/** Whether a short look at the text cannot rule out a second `model` at its top. */
function mayNameModelTwice(text: string): boolean {
  // An escape may hide one. Letters of ASCII are the only ones that matter here.
  if (text.includes('\\u00')) return true
  let found = 0
  // There are fewer places with this than with a quote, where a search for all of it would begin.
  for (let at = text.indexOf('model"'); at > 0; at = text.indexOf('model"', at + 6))
    if (text.charCodeAt(at - 1) === quote && ++found > 1) return true
  return false
}
