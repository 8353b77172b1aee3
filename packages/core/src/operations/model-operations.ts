import { lazy } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
import { isObject, type Json, type JsonObject } from '../base/json/json.ts'
import type { OperationName } from '../base/names.ts'
import { admitEarly } from '../calls/admit-early.ts'
import { isStream, type ReplyCall, toReply } from '../calls/reply.ts'
import { tryTargets } from '../calls/try-targets.ts'
import { loadWires } from '../formats/codec-registry.ts'
import type { ReferenceScheme } from '../formats/references/places.ts'
import type { RequestBody } from '../formats/request-body.ts'
import { type ModelPlaces, modelPlaces, routerPlaces } from '../formats/shared/model-places.ts'
import type { Reply } from '../http/inbound.ts'
import { operationsNamedBy } from './describe-models.ts'
import { asksToExplain } from './generate.ts'
import { loadAdapter } from './load-adapter.ts'
import { ModelOperationWriter } from './model-operation-writer.ts'
import type { Form } from './multipart/form.ts'
import { type FormDialect, isMultipart, readForm, uploadRequired } from './multipart/read-form.ts'
import type { AnyClientDialect, AnyOperation } from './operation.ts'
import { realtimePlaces } from './realtime/messages.ts'
import { noticedScheme } from './references/notice.ts'
import type { Handler, Route, RoutedCall } from './route.ts'

const loadAudio = () => import('./audio/audio.ts')
const loadImages = () => import('./images/images.ts')

/**
 * The definition of every operation other than chat generation, a promise until its first call has loaded it. To add an operation,
 * add it here, to `OperationName` (base/names.ts) and to the routes; the compiler reports what is missing.
 */
export const modelOperations: { readonly [O in OperationName]: () => AnyOperation | Promise<AnyOperation> } = {
  completions: lazy(() => import('./completions/completions.ts').then(({ completions }) => completions)),
  embeddings: lazy(() => import('./embeddings/embeddings.ts').then(({ embeddings }) => embeddings)),
  rerank: lazy(() => import('./rerank/rerank.ts').then(({ rerank }) => rerank)),
  moderations: lazy(() => import('./moderations.ts').then(({ moderations }) => moderations)),
  images: lazy(() => loadImages().then(({ images }) => images)),
  'image-edits': lazy(() => loadImages().then(({ imageEdits }) => imageEdits)),
  'image-variations': lazy(() => loadImages().then(({ imageVariations }) => imageVariations)),
  transcriptions: lazy(() => loadAudio().then(({ transcriptions }) => transcriptions)),
  translations: lazy(() => loadAudio().then(({ translations }) => translations)),
  speech: lazy(() => loadAudio().then(({ speech }) => speech)),
  'realtime-sessions': lazy(() => import('./realtime/sessions.ts').then(({ realtimeSessions }) => realtimeSessions)),
}

/** Operations without fields of their own that name a model. */
const common = modelPlaces(routerPlaces)

/** A language model writes drawings in SVG. */
const drawings = modelPlaces({ ...routerPlaces, names: [...routerPlaces.names, 'svg.model'] })

/** Gemini's operations other than generation: each request of a batch repeats the path's model. */
const gemini = modelPlaces({
  ...routerPlaces,
  names: [...routerPlaces.names, 'requests[].model'],
  protobuf: true,
})

/** The members that name a model in the requests of each operation, by the client's dialect. */
const places: { readonly [O in OperationName]: { readonly [dialect: string]: ModelPlaces } } = {
  completions: { openai: common },
  embeddings: {
    openai: common,
    cohere: common,
    gemini: gemini,
    'gemini-batch': gemini,
    vertex: gemini,
    ollama: common,
    'ollama-embeddings': common,
    titan: common,
    'cohere-invoke': common,
  },
  rerank: { jina: common, cohere: common },
  moderations: { openai: common },
  images: { openai: drawings, imagen: gemini },
  'image-edits': { openai: drawings },
  'image-variations': { openai: drawings },
  transcriptions: { openai: common },
  translations: { openai: common },
  speech: { openai: common },
  'realtime-sessions': {
    'client-secrets': realtimePlaces,
    sessions: realtimePlaces,
    'transcription-sessions': realtimePlaces,
    'translation-secrets': realtimePlaces,
  },
}

/** Returns the members of requests that name a model. Throws TypeError for a dialect without a list: its requests could name any model. */
export function placesOf(operation: OperationName, dialect: string): ModelPlaces {
  const found = places[operation][dialect]
  if (found === undefined) throw new TypeError(`No list of model places for '${operation}' in the dialect '${dialect}'`)
  return found
}

/** Handles every operation in `modelOperations`, from the body to the reply. */
export const handleModelOperation: Handler = async (call) => {
  const { route, record } = call
  // A request for an explanation must not become a call that is billed.
  if (call.inbound.query !== '' && asksToExplain(call.inbound))
    throw new GatewayError('invalid_request', 'modelgate=explain: only chat endpoints can be explained.')
  const early = route.byInstance === undefined ? undefined : await call.readBody(anyBody)
  const actual = early === undefined ? route : routeFor(call, early.value)
  record.operation = actual.operation
  // `handlers` maps no other operation to this handler.
  const loading = modelOperations[actual.operation as OperationName]()
  const operation = loading instanceof Promise ? await loading : loading
  const loadingErrors = loadWires(operation.dialects.map(({ errors }) => errors))
  if (loadingErrors !== undefined) await loadingErrors
  const dialect = clientDialect(operation, actual.dialect)
  const { form, validate } = dialect
  if (form !== undefined && isMultipart(call.inbound))
    return await runUpload(call, operation, dialect, await readUpload(call, form))
  if (validate === undefined) throw uploadRequired(call.inbound)
  if (early !== undefined) validate(early.value)
  const request = early ?? (await call.readBody(validate))
  const scheme = noticedScheme(actual, request)
  return await run(call, operation, dialect, { request, scheme })
}

async function readUpload(call: RoutedCall, dialect: FormDialect): Promise<Form> {
  const { inbound, params, shared } = call
  const { capture } = call.record
  const form = await readForm(capture?.watchRequest(inbound) ?? inbound, dialect, shared, params.model)
  capture?.setForm(form.value)
  return form
}

/** A body whose operation is not known yet. The operation's own dialect checks it. */
const anyBody = (body: Json): JsonObject => body as JsonObject

/**
 * Returns the route for a body, where one path serves two operations: by the members of the first instance, or by the model's name if it
 * has none of them, so that an incomplete instance gets the error of its own operation.
 */
function routeFor({ route, shared, record, params }: RoutedCall, body: Json): Route {
  const { byInstance } = route
  if (byInstance === undefined) return route
  const instances = isObject(body) ? body.instances : undefined
  const first = Array.isArray(instances) ? instances[0] : instances
  const { members, operation, dialect } = byInstance
  const other = { ...route, operation, dialect }
  if (isObject(first) && first.prompt !== undefined) return route
  if (isObject(first) && members.some((member) => Object.hasOwn(first, member))) return other
  return isNamedFor(operation, params.model ?? '', shared.router, record.identity) ? other : route
}

/** Returns whether the name of a model, or of its first target, states an operation. */
function isNamedFor(
  operation: OperationName,
  model: string,
  router: RoutedCall['shared']['router'],
  identity: RoutedCall['record']['identity'],
): boolean {
  const [target] = router.has(model, identity) ? router.plan(model, identity).targets : []
  return [model, target?.model ?? ''].some((name) => operationsNamedBy(name)?.includes(operation) === true)
}

function clientDialect(
  { name, dialects, clientDialects = [] }: AnyOperation,
  wanted: string | undefined,
): AnyClientDialect {
  const all: readonly AnyClientDialect[] = [...dialects, ...clientDialects]
  const dialect = all.find((one) => one.name === wanted)
  if (dialect === undefined || (dialect.validate ?? dialect.form) === undefined)
    throw new TypeError(`No operation '${name}' in the dialect '${wanted}'`)
  return dialect
}

const noBytes = new Uint8Array(0)

/** Runs an upload. Its files are kept until the end of the call: retries read them again. */
async function runUpload(
  call: RoutedCall,
  operation: AnyOperation,
  dialect: AnyClientDialect,
  form: Form,
): Promise<Reply> {
  const { spool } = form
  const end: ReplyCall['end'] = (ending) => {
    spool.close()
    call.end(ending)
  }
  let streams = false
  try {
    const request = { bytes: noBytes, text: '', members: [], value: form.value, fields: form.value }
    const reply = await run(call, operation, dialect, { request, form }, end)
    streams = isStream(reply)
    return reply
  } finally {
    if (!streams) spool.close()
  }
}

/** A request, with the references that it may contain. */
interface ReadRequest {
  readonly request: RequestBody
  readonly form?: Form
  readonly scheme?: ReferenceScheme | undefined
}

async function run(
  { snapshot, shared, route, inbound, record, transport, signal, end: endCall }: RoutedCall,
  operation: AnyOperation,
  dialect: AnyClientDialect,
  { request, form, scheme }: ReadRequest,
  end = endCall,
): Promise<Reply> {
  const { value } = request
  const model = String(value.model ?? dialect.defaultModel)
  const stream = dialect.streams?.(value) ?? (value.stream === true && dialect.tapStream !== undefined)
  record.model = model
  record.stream = stream
  if (operation.counted !== undefined) record.tokenCounting = operation.counted
  if (operation.issuesCredentials === true) {
    record.uncounted = true
    record.capture?.withholdResponses()
  }
  record.expected = dialect.expectedUse?.(value)
  const { limits, references } = shared
  const own = new ModelOperationWriter({ operation, dialect, request, form, model, stream, limits, references })
  const adapt = await loadAdapter({ route, snapshot })
  const writer = adapt === undefined ? own : adapt(own, request)
  const modelPlaces = placesOf(operation.name, dialect.name)
  // Without the codec: a chat codec would read affinity and traits from bodies that are not chat requests.
  const call = { shared, inbound, request, form, modelPlaces, writer, record, transport, signal, end }
  if (scheme !== undefined) {
    await admitEarly(call)
    await snapshot.checkReferences(scheme, request, record.identity)
  }
  const response = await tryTargets(call)
  const units = dialect.unitsOf?.(value)
  if (units !== undefined) record.units = units
  return await toReply(call, response)
}
