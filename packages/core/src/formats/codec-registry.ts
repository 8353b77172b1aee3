import { lazy } from '../base/async.ts'
import { GatewayError } from '../base/errors.ts'
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
type WireCodecs = Record<SharedFormat, WireCodec> &
  Record<Format, ClientWireCodec> &
  Record<UpstreamFormat, UpstreamWireCodec>

/** Returns a codec without a promise once it has been loaded. */
type Loader<C> = () => C | Promise<C>

/** Loaders of the codecs that an edition of the gateway has. A format without a whole codec is passed unchanged only. */
export interface FormatLoaders {
  readonly wires: { readonly [F in AnyFormat]?: Loader<WireCodecs[F]> }
  readonly codecs: { readonly [F in AnyFormat]?: Loader<WholeCodec<F>> }
  readonly dialectWires: { readonly [D in CodecDialect]?: Loader<ClientWireCodec> }
  readonly dialectCodecs: { readonly [D in CodecDialect]?: Loader<ClientCodec> }
}

const wireLoaders: { [F in AnyFormat]?: Loader<WireCodecs[F]> } = {}
const dialectWireLoaders: { [D in CodecDialect]?: Loader<ClientWireCodec> } = {}
const dialectLoaders: { [D in CodecDialect]?: Loader<ClientCodec> } = {}
const wholeLoaders: { [F in AnyFormat]?: Loader<WholeCodec<F>> } = {}

/**
 * Makes codecs loadable in this process. `createGateway` calls it with those of its edition; codecs that are known already stay. An import
 * must not do it: bundlers leave out the codecs of other editions only if imports have no side effects (docs/decisions/0018).
 */
export function registerFormats({ wires, codecs, dialectWires, dialectCodecs }: FormatLoaders): void {
  Object.assign(wireLoaders, { ...wires, ...wireLoaders })
  Object.assign(wholeLoaders, { ...codecs, ...wholeLoaders })
  Object.assign(dialectWireLoaders, { ...dialectWires, ...dialectWireLoaders })
  Object.assign(dialectLoaders, { ...dialectCodecs, ...dialectLoaders })
}

/** The loaders of whole codecs. */
export const codecLoaders: FormatLoaders['codecs'] = wholeLoaders

/** Returns a codec's loader. Throws GatewayError `not_implemented` if no edition in this process has the codec. */
function known<C>(loader: Loader<C> | undefined, format: string): Loader<C> {
  if (loader !== undefined) return loader
  throw new GatewayError(
    'not_implemented',
    `This gateway does not translate the format '${format}'. Import createGateway from '@modelgate/core'.`,
  )
}

/** Loads the whole codec of a format on first use; returns it without a promise once it has been loaded. */
export function loadCodec(format: SharedFormat): Codec | Promise<Codec>
export function loadCodec(format: Format): ClientCodec | Promise<ClientCodec>
export function loadCodec(format: UpstreamFormat): UpstreamCodec | Promise<UpstreamCodec>
export function loadCodec(format: AnyFormat): AnyCodec | Promise<AnyCodec> {
  return known<AnyCodec>(wholeLoaders[format], format)()
}

const isWhole = (codec: ClientWireCodec): codec is ClientCodec => 'decodeRequest' in codec

/** Returns the full codec of a call. Operations with their own codec (completions) already have a full one, dialects load theirs. */
export const loadFullCodec = (codec: ClientWireCodec): ClientCodec | Promise<ClientCodec> =>
  isWhole(codec)
    ? codec
    : codec.dialect === undefined
      ? loadCodec(codec.format)
      : known(dialectLoaders[codec.dialect], codec.dialect)()

/** Returns whether an upstream can speak a codec's format: bodies may then pass unchanged. */
export const isSharedCodec = (codec: ClientWireCodec): codec is WireCodec => 'tapStream' in codec

const loadedWires: Partial<WireCodecs> = {}

/** Creates the loader of the part of a format's codec that every call needs. */
export function wireLoader<F extends AnyFormat>(format: F, load: () => Promise<WireCodecs[F]>): Loader<WireCodecs[F]> {
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
  return known<ClientWireCodec | UpstreamWireCodec>(wireLoaders[format], format)()
}

/** Loads those of several formats; formats that no edition has are ignored. Returns undefined if all have been loaded. */
export function loadWires(formats: Iterable<AnyFormat>): Promise<void> | undefined {
  const loading = [...formats]
    .filter((format) => wireLoaders[format] !== undefined)
    .map((format) => loadWire(format))
    .filter((wire) => wire instanceof Promise)
  return loading.length === 0 ? undefined : Promise.all(loading).then(() => {})
}

const dialects: { readonly [D in CodecDialect]: true } = { 'ollama-generate': true }

export const isCodecDialect = (dialect: string | undefined): dialect is CodecDialect =>
  dialect !== undefined && Object.hasOwn(dialects, dialect)

/** The same part for dialects of formats. */
export const loadDialectWire = (dialect: CodecDialect): ClientWireCodec | Promise<ClientWireCodec> =>
  known(dialectWireLoaders[dialect], dialect)()

/** Returns the formats that clients can speak: at present all that the editions in this process have. */
export const clientFormats = (): readonly Format[] => Object.keys(wireLoaders) as Format[]

const upstreamFormats: { readonly [F in UpstreamFormat]: true } = {
  chat: true,
  messages: true,
  gemini: true,
  responses: true,
  converse: true,
}

export const isUpstreamFormat = (format: string): format is UpstreamFormat => Object.hasOwn(upstreamFormats, format)
