import { createCallRecord } from '../../../accounting/call-record.ts'
import { estimateRequest } from '../../../accounting/estimate-request.ts'
import { GatewayError } from '../../../base/errors.ts'
import { isObject, type Json, type JsonObject, scanJson, stringifyExact } from '../../../base/json/json.ts'
import type { SharedFormat } from '../../../base/names.ts'
import { prepareTarget } from '../../../calls/target-selector.ts'
import { createCandidate } from '../../../calls/try-targets.ts'
import type { OutputBound, WireCodec } from '../../../formats/codec.ts'
import { findReferences, type Reference } from '../../../formats/references/find.ts'
import type { ReferenceScheme } from '../../../formats/references/places.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import { GenerationWriter } from '../../../lanes/generation.ts'
import { checkNamedModels, type ResolvedTarget } from '../../../routing/router.ts'
import { speaks } from '../../../upstreams/outgoing-call.ts'
import { checkOwners, isResponseReference } from '../../references/check.ts'
import { mayReferToStoredObjects } from '../../references/notice.ts'
import type { ObjectCall } from '../object-call.ts'
import type { BatchPart } from './batch-dialect.ts'

/** Requests that are checked in one turn of the event loop. */
const perTurn = 50

/** Lets other calls continue after every few requests. */
export async function pauseAfter(count: number): Promise<void> {
  if (count % perTurn === perTurn - 1) await new Promise((resolve) => setTimeout(resolve, 0))
}

/** Repeats an error with the request's place in front of its message and its parameter. */
export function inRequest(error: unknown, place: string): unknown {
  if (!(error instanceof GatewayError)) return error
  const { kind, message, param, status: _, ...details } = error.info
  const at = param === undefined ? place : `${place}.${param}`
  const begins = param !== undefined && message.startsWith(param)
  return new GatewayError(kind, begins ? `${place}.${message}` : `${place}: ${message}`, { ...details, param: at })
}

/** Returns whether a target accepts every request. The conditions of others are about single calls, so they serve no batches. */
export const isUnconditional = ({ when, fits }: ResolvedTarget): boolean => when === undefined && fits !== true

/** Returns whether a target may serve the requests of a batch in a format. */
export const generatesInBatches = (target: ResolvedTarget, format: SharedFormat): boolean =>
  isUnconditional(target) && speaks(target.upstream, format, target.model)

/** Collects the requests of a batch by model, with their references to stored objects. */
export class BatchRequests {
  readonly parts: BatchPart[] = []
  readonly #objectCall: ObjectCall
  readonly #byModel = new Map<string, number>()
  readonly #references: Reference[] = []

  constructor(objectCall: ObjectCall) {
    this.#objectCall = objectCall
  }

  /** Adds a checked request. Returns the index of its part. */
  add(model: string, target: ResolvedTarget, outputBound: OutputBound | undefined, request: RequestBody): number {
    const { input, output } = estimateRequest(outputBound === undefined ? {} : { output: outputBound }, request)
    let index = this.#byModel.get(model)
    if (index === undefined) {
      index = this.parts.length
      this.#byModel.set(model, index)
      this.parts.push({ model, target, requests: 0, input: 0, output: 0, largestInput: 0 })
    }
    const part = this.parts[index] as BatchPart
    part.requests++
    part.input += input
    part.output = part.output === undefined || output === undefined ? undefined : part.output + output
    part.largestInput = Math.max(part.largestInput, input)
    return index
  }

  /** Checks the names of further models in a request, and remembers its references. */
  check(codec: WireCodec, scheme: ReferenceScheme, request: RequestBody, place: string): void {
    const { shared, record } = this.#objectCall.call
    checkNamedModels({ request, modelPlaces: codec.modelPlaces }, shared.router, record.identity)
    if (!mayReferToStoredObjects(scheme, request)) return
    for (const found of findReferences(scheme, request.text, request.value)) {
      if (isResponseReference(found))
        throw new GatewayError(
          'invalid_request',
          `${found.at}: a request of a batch cannot refer to stored responses or their items.`,
          { param: found.at },
        )
      this.#references.push({ ...found, at: `${place}.${found.at}` })
    }
  }

  /** Checks the owners of all stored objects to which requests refer. */
  async checkReferences(): Promise<void> {
    const { call, records } = this.#objectCall
    if (this.#references.length > 0) await checkOwners(this.#references, call.shared.references, records)
  }
}

/** Returns a request of a batch as a body of its own. */
export function requestOf(value: Json | undefined, place: string): RequestBody {
  if (!isObject(value)) throw new GatewayError('invalid_request', `${place}: expected an object.`, { param: place })
  const text = stringifyExact(value)
  const plain = JSON.parse(text) as JsonObject
  return {
    bytes: new TextEncoder().encode(text),
    text,
    members: scanJson(text, Number.POSITIVE_INFINITY).members,
    value: plain,
    fields: plain,
  }
}

/** Returns the body of a request as its target receives it: with the upstream's name of the model, `defaults` and `overrides`. */
export async function bodyForTarget(
  { call }: ObjectCall,
  codec: WireCodec,
  request: RequestBody,
  target: ResolvedTarget,
): Promise<string> {
  const { shared, inbound, record } = call
  const writer = new GenerationWriter(
    {
      codec,
      request,
      stream: false,
      limits: shared.limits,
      references: shared.references,
    },
    shared.parts,
  )
  const ownRecord = { ...createCallRecord(record.requestId, 'batch', record.format), identity: record.identity }
  const candidate = createCandidate(target)
  const { modelPlaces } = codec
  const preparing = { shared, inbound, codec, request, modelPlaces, writer, record: ownRecord }
  const written = await prepareTarget(preparing, candidate, undefined)
  if (written === undefined)
    throw candidate.refusal ?? new GatewayError('internal', 'The request could not be prepared.')
  const { body } = written.lane
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return new TextDecoder().decode(body)
  throw new TypeError('A request of a batch has no body that streams')
}
