import { GatewayError } from '../../base/errors.ts'
import { isObject, type Json, type JsonObject, put } from '../../base/json/json.ts'
import { copyInCamelCase } from '../../formats/gemini/spelling.ts'
import { tapResponse } from '../../formats/gemini/tap.ts'
import { decodeUsage } from '../../formats/gemini/usage-decode.ts'
import type { Report } from '../../formats/ir.ts'
import * as z from '../../formats/shared/body-schema.ts'
import { takeNumber, takeString, unread } from '../../formats/shared/json-fields.ts'
import { loss } from '../../formats/shared/report.ts'
import { arrayOf, dotted, validateBody } from '../../formats/shared/validate.ts'
import { expectedImageCount } from '../expected-use.ts'
import { candidateParts, refusalOf } from '../gemini-response.ts'
import type { Dialect } from '../operation.ts'
import {
  type GeneratedImage,
  type ImageInput,
  type ImagesRequest,
  type ImagesResponse,
  reportUnsupportedSettings,
  takeAspectRatio,
} from './request.ts'

const ratios = ['1:1', '2:3', '3:2', '3:4', '4:3', '4:5', '5:4', '9:16', '16:9', '21:9']
const largeSide = 2000

function encodeImage(image: ImageInput, report: Report): JsonObject[] {
  if ('data' in image) return [{ inlineData: { mimeType: image.mediaType, data: image.data } }]
  if ('url' in image && !image.url.startsWith('data:')) {
    report.add(loss(image.at, 'sent as a URL, which not every model fetches', 'approximated', 'note'))
    return [{ fileData: { fileUri: image.url } }]
  }
  const detail =
    'url' in image ? 'data of this kind cannot be sent' : 'a file that another provider stores cannot be sent'
  report.add(loss(image.at, detail, 'unsupported', 'fatal'))
  return []
}

/** Images through generateContent, by models with image output. */
export const gemini: Dialect<ImagesRequest, ImagesResponse> = {
  name: 'gemini',
  errors: 'gemini',
  modelInPath: '/{model}:generateContent',

  encodeRequest({ prompt, images, mask, settings }, { report }) {
    const fields = unread(settings)
    const image: JsonObject = {}
    const large = largest(fields.size) >= largeSide
    put(image, 'aspectRatio', takeAspectRatio(fields, ratios, report))
    if (large) image.imageSize = '2K'
    const format = takeString(fields, 'output_format')
    if (format !== undefined && format !== 'png')
      report.add(loss('/output_format', 'the upstream chooses the format; the response names it', 'unsupported'))
    const config: JsonObject = { responseModalities: ['IMAGE'] }
    if (Object.keys(image).length > 0) config.imageConfig = image
    const count = takeNumber(fields, 'n') ?? 1
    if (count > 1) {
      config.candidateCount = count
      report.add(loss('/n', 'some models return one image per call', 'approximated', 'note'))
    }
    if (mask !== undefined)
      report.add(loss(mask.at, 'a mask cannot be sent: the whole image may be changed', 'unsupported'))
    reportUnsupportedSettings(fields, report)
    return {
      contents: [{ role: 'user', parts: [...images.flatMap((one) => encodeImage(one, report)), { text: prompt }] }],
      generationConfig: config,
    }
  },

  decodeResponse(body, { request, report }) {
    const images: GeneratedImage[] = []
    for (const { part, at } of candidateParts(body)) {
      const { inlineData, text, thought } = copyInCamelCase(part)
      if (thought === true) continue
      const { mimeType, data } = isObject(inlineData) ? copyInCamelCase(inlineData) : {}
      if (typeof data === 'string')
        images.push({ data, mediaType: typeof mimeType === 'string' ? mimeType : 'image/png' })
      else if (typeof text === 'string' && text.trim() !== '')
        report.add(loss(at, 'text next to the image cannot be sent in the response', 'unsupported', 'note'))
    }
    if (images.length === 0) throw refusalOf(body, 'an image')
    const { n } = request.settings
    if (typeof n === 'number' && n !== images.length)
      report.add(loss('', `${n} images were requested, ${images.length} returned`, 'approximated'))
    const usage = decodeUsage(isObject(body) ? copyInCamelCase(body).usageMetadata : undefined)
    return { images, ...(usage === undefined ? {} : { usage }) }
  },

  tapResponse,
}

function largest(size: Json | undefined): number {
  return typeof size === 'string' ? Math.max(0, ...size.split('x').map(Number).filter(Number.isFinite)) : 0
}

const imagenRatios = ['1:1', '3:4', '4:3', '9:16', '16:9']

const predictRequest = z.looseObject({
  instances: arrayOf(z.looseObject({ prompt: z.string() })).min(1),
  parameters: z.looseObject({ sampleCount: z.number().optional(), aspectRatio: z.string().optional() }).optional(),
})

/** Imagen through `:predict`, for generation only. Requests in this dialect are only passed through, because no other upstream has it. */
export const imagen: Dialect<ImagesRequest, ImagesResponse> = {
  name: 'imagen',
  errors: 'gemini',
  modelInPath: '/{model}:predict',

  validate: (body) =>
    validateBody(predictRequest, body, ({ path }) => {
      const param = dotted(path)
      return { message: `Invalid value at '${param}': it is missing or has the wrong type.`, param }
    }),

  serves: (model) => model.startsWith('imagen'),

  encodeRequest({ prompt, settings }, { report }) {
    const fields = unread(settings)
    const parameters: JsonObject = { sampleCount: takeNumber(fields, 'n') ?? 1, includeRaiReason: true }
    if (largest(fields.size) >= largeSide) parameters.sampleImageSize = '2K'
    put(parameters, 'aspectRatio', takeAspectRatio(fields, imagenRatios, report))
    const output: JsonObject = {}
    const format = fields.output_format
    if (format === 'png' || format === 'jpeg') {
      delete fields.output_format
      output.mimeType = `image/${format}`
      if (format === 'jpeg') put(output, 'compressionQuality', takeNumber(fields, 'output_compression'))
    }
    if (Object.keys(output).length > 0) parameters.outputOptions = output
    reportUnsupportedSettings(fields, report)
    return { instances: [{ prompt }], parameters }
  },

  decodeResponse(body, { request, report }) {
    if (!isObject(body))
      throw new GatewayError('upstream_bad_response', 'The upstream responded without a list of images.')
    const images: GeneratedImage[] = []
    const reasons: string[] = []
    for (const one of Array.isArray(body.predictions) ? body.predictions : []) {
      if (!isObject(one)) continue
      const { bytesBase64Encoded: data, mimeType, prompt, raiFilteredReason: reason } = one
      if (typeof data === 'string')
        images.push({
          data,
          mediaType: typeof mimeType === 'string' ? mimeType : 'image/png',
          ...(typeof prompt === 'string' ? { revisedPrompt: prompt } : {}),
        })
      else if (typeof reason === 'string') reasons.push(reason)
    }
    if (images.length === 0) {
      const [reason] = reasons
      throw reason === undefined ? refusalOf(body, 'an image') : blocked(reason)
    }
    const wanted = typeof request.settings.n === 'number' ? request.settings.n : 1
    if (wanted !== images.length) {
      const why = reasons.length === 0 ? '' : `: ${reasons.join(' ')}`
      report.add(loss('', `${wanted} images were requested, ${images.length} returned${why}`, 'approximated'))
    }
    return { images }
  },

  tapResponse: () => ({}),
  unitsOf: requestedImages,
  expectedUse: (request) => expectedImageCount(requestedImages(request)),
}

/** Returns the number of requested images. Imagen's default is four. */
function requestedImages({ parameters }: JsonObject): { readonly images: number } {
  return { images: isObject(parameters) && typeof parameters.sampleCount === 'number' ? parameters.sampleCount : 4 }
}

const blocked = (reason: string): GatewayError =>
  new GatewayError('invalid_request', reason, { code: 'moderation_blocked' })
