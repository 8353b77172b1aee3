import type { UpstreamFormat } from '../base/names.ts'
import type { Upstream } from './upstream.ts'

/** Whether an upstream speaks a format natively, for this model. */
export const speaks = ({ formats, serves }: Upstream, format: UpstreamFormat, model: string): boolean =>
  formats[format] !== undefined && (serves === undefined || serves(format, model))

/** The formats that an upstream speaks for a model, best first. */
export const formatsFor = (upstream: Upstream, model: string): readonly UpstreamFormat[] =>
  (Object.keys(upstream.formats) as UpstreamFormat[]).filter((format) => speaks(upstream, format, model))
