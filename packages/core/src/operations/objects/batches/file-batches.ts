import { GatewayError } from '../../../base/errors.ts'
import { isObject, type Json, type JsonObject, scanJson } from '../../../base/json/json.ts'
import type { WireCodec } from '../../../formats/codec.ts'
import { loadWire } from '../../../formats/codec-registry.ts'
import type { Usage } from '../../../formats/ir.ts'
import { unknownReferenceError } from '../../../formats/references/find.ts'
import type { RequestBody } from '../../../formats/request-body.ts'
import type { ResolvedTarget } from '../../../routing/router.ts'
import { pathOf, upstreamOf } from '../find-object.ts'
import type { ObjectCall } from '../object-call.ts'
import type { ObjectUpstream } from '../send.ts'
import type { BatchDialect, NewBatch, UnsettledBatch } from './batch-dialect.ts'
import { linesOf, parseLine } from './json-lines.ts'
import { BatchRequests, generatesInBatches, inRequest, isUnconditional, pauseAfter } from './requests.ts'
import { UsageSum } from './usage.ts'

// OpenAI's batches: the requests are lines of a file that was uploaded before. The gateway reads the file when a batch is created, because
// a file never changes. It does not rewrite the file, so its lines must name models as the upstream does.

/** An endpoint that the requests of a batch may have. */
interface Endpoint {
  /** The format of its requests and responses, or of the usage in them. */
  readonly format: 'chat' | 'responses'
  /** Its responses contain generated text. */
  readonly generates: boolean
  serves(target: ResolvedTarget): boolean
}

const generation = (format: Endpoint['format']): Endpoint => ({
  format,
  generates: true,
  serves: (target) => generatesInBatches(target, format),
})

const endpoints: Readonly<Record<string, Endpoint>> = {
  '/v1/chat/completions': generation('chat'),
  '/v1/responses': generation('responses'),
  '/v1/embeddings': {
    format: 'chat',
    generates: false,
    serves: (target) => isUnconditional(target) && target.upstream.operations?.embeddings?.openai !== undefined,
  },
}

async function read(objectCall: ObjectCall, request: RequestBody): Promise<NewBatch> {
  const { call } = objectCall
  const endpointName = textOf(request, 'endpoint')
  const endpoint = Object.hasOwn(endpoints, endpointName) ? endpoints[endpointName] : undefined
  if (endpoint === undefined)
    throw new GatewayError(
      'invalid_request',
      `endpoint: this gateway accepts batches for ${Object.keys(endpoints).join(', ')}.`,
      { param: 'endpoint' },
    )
  const codec = await loadWire(endpoint.format)
  const file = textOf(request, 'input_file_id')
  const { upstream, path } = await inputFile(objectCall, file)
  const requests = new BatchRequests(objectCall)
  let number = 0
  for await (const text of linesOf(call, upstream, { method: 'GET', path: `${path}/content` })) {
    number++
    const place = `${file} line ${number}`
    try {
      const line = requestIn(text, endpointName)
      const model = String(line.value.model)
      requests.add(
        model,
        targetOf(objectCall, endpoint, upstream, model),
        endpoint.generates ? codec.outputBound : undefined,
        line,
      )
      if (requests.parts.length > 1)
        throw new GatewayError('invalid_request', 'body.model: all requests of a batch must name the same model.')
      requests.check(codec, codec.format, line, `${place}: body`)
      checkBackground(codec, line.value)
    } catch (error) {
      throw inFile(error, place)
    }
    await pauseAfter(number)
  }
  if (number === 0) throw new GatewayError('invalid_request', `input_file_id: the file '${file}' has no requests.`)
  await requests.checkReferences()
  return { upstream, body: request.bytes, parts: requests.parts }
}

const inFile = (error: unknown, place: string): unknown => {
  const placed = inRequest(error, place)
  if (!(placed instanceof GatewayError)) return error
  const { kind, message, status: _, ...details } = placed.info
  return new GatewayError(kind, message, { ...details, param: 'input_file_id' })
}

/** Returns a text member of the body. It must be there once: the upstream could read another one than the checked one. */
function textOf({ members, value }: RequestBody, name: string): string {
  const text = value[name]
  if (members.filter(({ key }) => key.toLowerCase() === name).length === 1 && typeof text === 'string' && text !== '')
    return text
  throw new GatewayError('invalid_request', `${name}: expected one string.`, { param: name })
}

/** Returns the file with the requests of a batch, and its upstream. Throws GatewayError for a file of another caller. */
async function inputFile(
  objectCall: ObjectCall,
  id: string,
): Promise<{ readonly upstream: ObjectUpstream; readonly path: string }> {
  const { records } = objectCall
  const own = id.includes('/') ? undefined : await records.objects.find('files', id)
  if (own === undefined) throw unknownReferenceError('files', id, 'input_file_id', '', records.isEnabled)
  const upstream = upstreamOf(objectCall, own.upstream)
  const files = upstreamOf({ ...objectCall, kind: 'files' }, own.upstream)
  if (upstream === undefined || files === undefined)
    throw new GatewayError('invalid_request', 'input_file_id: the upstream that holds this file serves no batches.', {
      param: 'input_file_id',
    })
  return { upstream, path: pathOf({ creates: 'upload' }, files, id) }
}

/** Returns the request in a line of the file. */
function requestIn(text: string, endpoint: string): RequestBody {
  const value = parseLine(text)
  const { members } = scanJson(text, Number.POSITIVE_INFINITY)
  const names = members.map(({ key }) => key.toLowerCase())
  for (const name of ['custom_id', 'method', 'url', 'body'])
    if (names.filter((one) => one === name).length !== 1)
      throw new GatewayError('invalid_request', `${name}: expected this member once.`)
  if (value.method !== 'POST') throw new GatewayError('invalid_request', "method: expected 'POST'.")
  if (value.url !== endpoint)
    throw new GatewayError('invalid_request', `url: expected '${endpoint}', the endpoint of the batch.`)
  const { body } = value
  const member = members.find(({ key }) => key === 'body')
  if (!isObject(body) || member === undefined) throw new GatewayError('invalid_request', 'body: expected an object.')
  if (typeof body.model !== 'string') throw new GatewayError('invalid_request', 'body.model: expected a string.')
  const own = text.slice(member.start, member.end)
  return {
    bytes: new TextEncoder().encode(own),
    text: own,
    members: scanJson(own, Number.POSITIVE_INFINITY).members,
    value: body,
    fields: body,
  }
}

/** Returns the target of a model at the upstream that holds the file. */
function targetOf(
  { call: { shared, record } }: ObjectCall,
  endpoint: Endpoint,
  { name }: ObjectUpstream,
  model: string,
): ResolvedTarget {
  const { targets } = shared.router.plan(model, record.identity)
  const here = targets.filter((target) => target.upstreamName === name && endpoint.serves(target))
  const target = here.find((one) => one.model === model)
  const shown = model.slice(0, 100)
  if (target === undefined)
    throw new GatewayError(
      'invalid_request',
      here.length === 0
        ? `body.model: the upstream that holds the file does not serve '${shown}' in batches.`
        : `body.model: '${shown}' is called '${here[0]?.model}' at its upstream, and the gateway does not change files. Write '${here[0]?.model}' in the file; the gateway's operator must offer it under this name.`,
    )
  if (target.defaults !== undefined || target.overrides !== undefined)
    throw new GatewayError(
      'invalid_request',
      `body.model: the operator of this gateway has configured settings of '${shown}', which it cannot apply to a file.`,
    )
  return target
}

function checkBackground({ backgroundFields = [] }: WireCodec, body: JsonObject): void {
  for (const field of backgroundFields)
    if (body[field] === true)
      throw new GatewayError('invalid_request', `body.${field}: a request of a batch cannot set it.`)
}

const ended: ReadonlySet<Json | undefined> = new Set(['completed', 'failed', 'expired', 'cancelled'])

async function readUsage(
  objectCall: ObjectCall,
  { name }: ObjectUpstream,
  { usage: reported, output_file_id: file, endpoint: endpointName }: JsonObject,
  { parts }: UnsettledBatch,
): Promise<readonly Usage[]> {
  const whole = isObject(reported)
    ? (await loadWire('responses')).tapResponse({ output: [], usage: reported }).usage
    : undefined
  if (whole !== undefined) {
    const { input, output } = whole
    // The sizes of the requests are unknown: their average decides about prices of long inputs.
    const largestInput = Math.ceil(input.total / (parts[0]?.requests ?? 1))
    return [{ input, output, billed: { tier: 'batch', runs: [{ input, output, largestInput }] } }]
  }
  const sum = new UsageSum()
  const files = upstreamOf({ ...objectCall, kind: 'files' }, name)
  if (typeof file === 'string' && files !== undefined) {
    const format = (typeof endpointName === 'string' ? endpoints[endpointName]?.format : undefined) ?? 'chat'
    const codec = await loadWire(format)
    const path = `${pathOf({ creates: 'upload' }, files, file)}/content`
    for await (const text of linesOf(objectCall.call, files, { method: 'GET', path })) {
      const { response } = parseLine(text)
      const body = isObject(response) ? response.body : undefined
      const usage = isObject(body) ? codec.tapResponse(body).usage : undefined
      if (usage !== undefined) sum.add(usage)
    }
  }
  return [sum.total()]
}

/** OpenAI's API of batches. */
export const fileBatches: BatchDialect = {
  read,
  isEnded: ({ status }) => ended.has(status),
  readUsage,
  resultFiles: ({ output_file_id: output, error_file_id: errors }) =>
    [output, errors].filter((id): id is string => typeof id === 'string' && id !== ''),
}
