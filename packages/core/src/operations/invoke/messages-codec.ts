import { GatewayError } from '../../base/errors.ts'
import type { Json, JsonObject } from '../../base/json/json.ts'
import type { Codec, WireEdit } from '../../formats/codec.ts'
import { loss } from '../../formats/shared/report.ts'

const hostFields = ['anthropic_version', 'anthropic_beta'] as const

/**
 * Returns the codec of Messages for the bodies that Bedrock accepts: model and stream flag stand in the path, the version and the beta flags
 * in the body. An upstream of Bedrock gets them unchanged.
 */
export const hostedMessages = (codec: Codec): Codec => ({
  ...codec,
  hostedBody: 'invoke',
  wireEdit(body, target) {
    const edit = codec.wireEdit(body, target)
    return target.hostedBody === 'invoke' ? edit : toVendor(body, target.model, edit)
  },
  decodeRequest(body, context) {
    const { anthropic_version: _, anthropic_beta: betas, ...rest } = body
    if (flagsIn(betas).length > 0)
      context.report.add(
        loss('/anthropic_beta', 'only a body that passes unchanged keeps beta flags', 'unsupported', 'note'),
      )
    return codec.decodeRequest(rest, context)
  },
})

/** Returns the edits that make the body one of Anthropic's own API. */
function toVendor(body: JsonObject, model: string, edit: WireEdit | undefined): WireEdit {
  const flags = flagsIn(body.anthropic_beta)
  return {
    ...edit,
    set: { ...edit?.set, model, ...(body.stream === true ? { stream: true } : {}) },
    drop: [...(edit?.drop ?? []), ...hostFields],
    ...(flags.length === 0 ? {} : { flags: { header: 'anthropic-beta', flags } }),
  }
}

/** Flags become a header: other characters would make it invalid, and the call a failure of every upstream. */
const flag = /^[\w.:-]{1,128}$/
const maxFlags = 64

function flagsIn(value: Json | undefined): string[] {
  const given = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
  const flags = given.filter((one) => typeof one === 'string' && flag.test(one)) as string[]
  if (given.length > maxFlags || flags.length < given.length)
    throw new GatewayError(
      'invalid_request',
      `Invalid value for 'anthropic_beta': send a list of at most ${maxFlags} names of beta features, each of at most 128 letters, digits, '-', '_', '.' and ':'.`,
      { param: 'anthropic_beta' },
    )
  return flags
}
