import { GatewayError } from '../../../base/errors.ts'
import { isObject, type Json, type JsonObject, stringifyExact } from '../../../base/json/json.ts'
import { parseExact } from '../../../base/json/parse.ts'
import type { WireCodec } from '../../../formats/codec.ts'
import { isSharedCodec } from '../../../formats/codec-registry.ts'
import type { Usage } from '../../../formats/ir.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import type { ResolvedTarget } from '../../../routing/router.ts'
import { upstreamOf } from '../find-object.ts'
import type { ObjectCall } from '../object-call.ts'
import { originOf } from '../resumable-upload.ts'
import type { ObjectUpstream } from '../send.ts'
import type { BatchDialect, NewBatch, UnsettledBatch } from './batch-dialect.ts'
import { linesOf, parseLine } from './json-lines.ts'
import { BatchRequests, bodyForTarget, generatesInBatches, inRequest, pauseAfter, requestOf } from './requests.ts'
import { UsageSum } from './usage.ts'

// Anthropic's batches: the requests are in the body that creates a batch, and each may name another model.

/** Largest number of requests of a batch with several models: the model of each is stored until the batch has ended. */
const maxMixedRequests = 10_000

interface Line {
  readonly id: string
  readonly place: string
  readonly request: RequestBody
}

async function read(objectCall: ObjectCall, { text }: RequestBody): Promise<NewBatch> {
  const { call } = objectCall
  const { codec } = call
  if (!isSharedCodec(codec)) throw new TypeError(`No upstream serves batches of the format ${codec.format}`)
  const body = parseExact(text) as JsonObject
  const lines = await linesIn(body, codec)
  const upstream = chooseUpstream(objectCall, codec, lines)
  const requests = new BatchRequests(objectCall)
  const partOf = new Map<string, number>()
  const written: Json[] = []
  for (const [index, { id, place, request }] of lines.entries()) {
    try {
      requests.check(codec, codec.format, request, place)
      const model = String(request.value.model)
      const target = targetAt(objectCall, codec, model, upstream.name)
      if (target === undefined) throw new TypeError(`The model ${model} has no target at ${upstream.name}`)
      const params = await bodyForTarget(objectCall, codec, request, target)
      partOf.set(id, requests.add(model, target, codec.outputBound, request))
      written.push({ ...(listOf(body)[index] as JsonObject), params: parseExact(params) as Json })
    } catch (error) {
      throw inRequest(error, place)
    }
    await pauseAfter(index)
  }
  await requests.checkReferences()
  const { parts } = requests
  if (parts.length > 1 && lines.length > maxMixedRequests)
    throw new GatewayError(
      'invalid_request',
      `requests: a batch with several models may have ${maxMixedRequests} requests. Create a batch for each model.`,
      { param: 'requests' },
    )
  const sent = stringifyExact({ ...body, requests: written })
  return { upstream, body: sent, parts, ...(parts.length > 1 ? { partOf } : {}) }
}

const listOf = ({ requests }: JsonObject): readonly Json[] => (Array.isArray(requests) ? requests : [])

/** Reads the requests of a body, and checks each like a call. */
async function linesIn(body: JsonObject, codec: WireCodec): Promise<readonly Line[]> {
  const check = await codec.loadRequestCheck()
  const list = listOf(body)
  if (list.length === 0)
    throw new GatewayError('invalid_request', 'requests: expected a list with at least one request.', {
      param: 'requests',
    })
  const lines: Line[] = []
  for (const [index, entry] of list.entries()) {
    const place = `requests[${index}]`
    const { custom_id: id, params } = isObject(entry) ? entry : {}
    if (typeof id !== 'string')
      throw new GatewayError('invalid_request', `${place}.custom_id: expected a string.`, {
        param: `${place}.custom_id`,
      })
    const request = requestOf(params, `${place}.params`)
    try {
      check(request.value)
    } catch (error) {
      throw inRequest(error, `${place}.params`)
    }
    lines.push({ id, place: `${place}.params`, request })
    await pauseAfter(index)
  }
  return lines
}

/** Returns the first upstream that serves the models of all requests. */
function chooseUpstream(objectCall: ObjectCall, codec: WireCodec, lines: readonly Line[]): ObjectUpstream {
  const { shared, record, snapshot } = objectCall.call
  const preferred = snapshot.config.objects?.upstreams
  let able: readonly string[] | undefined
  const seen = new Set<string>()
  for (const { place, request } of lines) {
    const model = String(request.value.model)
    if (seen.has(model)) continue
    seen.add(model)
    let names: readonly string[]
    try {
      const { targets } = shared.router.plan(model, record.identity)
      names = targets
        .filter((target) => generatesInBatches(target, codec.format))
        .map(({ upstreamName }) => upstreamName)
    } catch (error) {
      throw inRequest(error, place)
    }
    const here = names.filter(
      (name) => upstreamOf(objectCall, name) !== undefined && (preferred === undefined || preferred.includes(name)),
    )
    const common: readonly string[] = able === undefined ? here : able.filter((name) => here.includes(name))
    if (common.length === 0)
      throw new GatewayError(
        'invalid_request',
        here.length === 0
          ? `${place}.model: no upstream of the model '${model.slice(0, 100)}' serves batches of this API.`
          : `${place}.model: the model '${model.slice(0, 100)}' is served by another upstream than the requests before it. Create a batch for each upstream.`,
        { param: `${place}.model` },
      )
    able = common
  }
  const ordered = preferred === undefined ? able : preferred.filter((name) => able?.includes(name) === true)
  return upstreamOf(objectCall, ordered?.[0] ?? '') as ObjectUpstream
}

const targetAt = (
  { call: { shared, record } }: ObjectCall,
  codec: WireCodec,
  model: string,
  upstream: string,
): ResolvedTarget | undefined =>
  shared.router
    .plan(model, record.identity)
    .targets.find((target) => target.upstreamName === upstream && generatesInBatches(target, codec.format))

async function readUsage(
  objectCall: ObjectCall,
  upstream: ObjectUpstream,
  { id }: JsonObject,
  { parts, partOf }: UnsettledBatch,
): Promise<readonly Usage[]> {
  const { call } = objectCall
  const { codec } = call
  if (!isSharedCodec(codec)) throw new TypeError(`No upstream serves batches of the format ${codec.format}`)
  const sums = parts.map(() => new UsageSum())
  const path = `${upstream.path}/${encodeURIComponent(String(id))}/results`
  for await (const text of linesOf(call, upstream, { method: 'GET', path })) {
    const { custom_id: request, result } = parseLine(text)
    const message = isObject(result) ? result.message : undefined
    const usage = isObject(message) ? codec.tapResponse(message).usage : undefined
    const part = typeof request === 'string' && Object.hasOwn(partOf, request) ? (partOf[request] ?? 0) : 0
    if (usage !== undefined) sums[part]?.add(usage)
  }
  return sums.map((sum) => sum.total())
}

/** The results are read from the gateway. */
function membersForClient({ call: { inbound } }: ObjectCall, { id, results_url: url }: JsonObject): JsonObject {
  if (typeof url !== 'string') return {}
  const folder = inbound.path.slice(0, inbound.path.lastIndexOf('/batches'))
  return { results_url: `${originOf(inbound)}${folder}/batches/${String(id)}/results` }
}

/** Anthropic's API of batches. */
export const messageBatches: BatchDialect = {
  read,
  isEnded: ({ processing_status: status }) => status === 'ended',
  readUsage,
  membersForClient,
}
