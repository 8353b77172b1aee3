import { lazy } from '../base/async.ts'
import type { AnyFormat, Format, SharedFormat, UpstreamFormat } from '../base/names.ts'
import type {
  ClientCodec,
  ClientWireCodec,
  Codec,
  CodecDialect,
  UpstreamCodec,
  UpstreamWireCodec,
  WireCodec,
} from './codec.ts'

type AnyCodec = ClientCodec | UpstreamCodec
type WholeCodec<F extends AnyFormat> = F extends SharedFormat ? Codec : F extends Format ? ClientCodec : UpstreamCodec

/** Loads the whole codec of each format on first use; returns it without a promise once it has been loaded. */
export const codecLoaders: { readonly [F in AnyFormat]: () => WholeCodec<F> | Promise<WholeCodec<F>> } = {
  chat: lazy(() => import('./chat/codec.ts').then(({ chatCodec }) => chatCodec)),
  messages: lazy(() => import('./messages/codec.ts').then(({ messagesCodec }) => messagesCodec)),
  gemini: lazy(() => import('./gemini/codec.ts').then(({ geminiCodec }) => geminiCodec)),
  responses: lazy(() => import('./responses/codec.ts').then(({ responsesCodec }) => responsesCodec)),
  converse: lazy(() => import('./converse/codec.ts').then(({ converseCodec }) => converseCodec)),
  ollama: lazy(() => import('./ollama/codec.ts').then(({ ollamaCodec }) => ollamaCodec)),
}

export function loadCodec(format: SharedFormat): Codec | Promise<Codec>
export function loadCodec(format: Format): ClientCodec | Promise<ClientCodec>
export function loadCodec(format: UpstreamFormat): UpstreamCodec | Promise<UpstreamCodec>
export function loadCodec(format: AnyFormat): AnyCodec | Promise<AnyCodec> {
  return codecLoaders[format]()
}

const dialectLoaders: { readonly [D in CodecDialect]: () => ClientCodec | Promise<ClientCodec> } = {
  'ollama-generate': lazy(() => import('./ollama/codec.ts').then(({ ollamaGenerateCodec }) => ollamaGenerateCodec)),
}

const isWhole = (codec: ClientWireCodec): codec is ClientCodec => 'decodeRequest' in codec

/** Returns the full codec of a call. Operations with their own codec (completions) already have a full one, dialects load theirs. */
export const loadFullCodec = (codec: ClientWireCodec): ClientCodec | Promise<ClientCodec> =>
  isWhole(codec) ? codec : codec.dialect === undefined ? loadCodec(codec.format) : dialectLoaders[codec.dialect]()

/** Returns whether an upstream can speak a codec's format: bodies may then pass unchanged. */
export const isSharedCodec = (codec: ClientWireCodec): codec is WireCodec => 'tapStream' in codec

/** Loads the part of each format's codec that every call needs, on first use. A new format is added here, above and to `codecs`. */
const wireLoaders = {
  chat: wireLoader('chat', () => import('./chat/wire.ts').then(({ chatWire }) => chatWire)),
  messages: wireLoader('messages', () => import('./messages/wire.ts').then(({ messagesWire }) => messagesWire)),
  gemini: wireLoader('gemini', () => import('./gemini/wire.ts').then(({ geminiWire }) => geminiWire)),
  responses: wireLoader('responses', () => import('./responses/wire.ts').then(({ responsesWire }) => responsesWire)),
  converse: wireLoader('converse', () => import('./converse/wire.ts').then(({ converseWire }) => converseWire)),
  ollama: wireLoader('ollama', () => import('./ollama/wire.ts').then(({ ollamaWire }) => ollamaWire)),
} satisfies { readonly [F in SharedFormat]: WireLoader<WireCodec> } & {
  readonly [F in Format]: WireLoader<ClientWireCodec>
}

type WireLoader<C> = () => C | Promise<C>
type WireCodecs = Record<SharedFormat, WireCodec> &
  Record<Format, ClientWireCodec> &
  Record<UpstreamFormat, UpstreamWireCodec>

const loadedWires: Partial<WireCodecs> = {}

function wireLoader<F extends AnyFormat>(format: F, load: () => Promise<WireCodecs[F]>): WireLoader<WireCodecs[F]> {
  return lazy(async () => {
    const codec = await load()
    loadedWires[format] = codec
    return codec
  })
}

/**
 * The loaded parts. A call begins when those of its client's format and of all configured upstreams' formats are loaded, so the code
 * of a call reads them without waiting. The type states that all are loaded, to avoid a check at each access:
 * any other format is `undefined` until it is loaded, and code that needs it calls `loadWire`.
 */
export const wireCodecs = loadedWires as Readonly<WireCodecs>

/** Loads the part of a format's codec that every call needs; returns it without a promise once it has been loaded. */
export function loadWire(format: SharedFormat): WireCodec | Promise<WireCodec>
export function loadWire(format: Format): ClientWireCodec | Promise<ClientWireCodec>
export function loadWire(
  format: AnyFormat,
): ClientWireCodec | UpstreamWireCodec | Promise<ClientWireCodec | UpstreamWireCodec>
export function loadWire(
  format: AnyFormat,
): ClientWireCodec | UpstreamWireCodec | Promise<ClientWireCodec | UpstreamWireCodec> {
  return wireLoaders[format]()
}

/** Loads those of several formats. Returns undefined if all have been loaded. */
export function loadWires(formats: Iterable<AnyFormat>): Promise<void> | undefined {
  const loading = [...formats].map((format) => loadWire(format)).filter((wire) => wire instanceof Promise)
  return loading.length === 0 ? undefined : Promise.all(loading).then(() => {})
}

/** The same part for dialects of formats. */
const dialectWireLoaders: { readonly [D in CodecDialect]: WireLoader<ClientWireCodec> } = {
  'ollama-generate': lazy(() => import('./ollama/wire.ts').then(({ ollamaGenerateWire }) => ollamaGenerateWire)),
}

export const isCodecDialect = (dialect: string | undefined): dialect is CodecDialect =>
  dialect !== undefined && Object.hasOwn(dialectWireLoaders, dialect)

export const loadDialectWire = (dialect: CodecDialect): ClientWireCodec | Promise<ClientWireCodec> =>
  dialectWireLoaders[dialect]()

/** The formats that clients speak: at present all. */
export const clientFormats = Object.keys(wireLoaders) as readonly Format[]

/** The formats that no upstream speaks. */
const clientOnlyFormats: { readonly [F in Exclude<AnyFormat, UpstreamFormat>]: true } = { ollama: true }

export const isUpstreamFormat = (format: string): format is UpstreamFormat =>
  Object.hasOwn(wireLoaders, format) && !Object.hasOwn(clientOnlyFormats, format)
