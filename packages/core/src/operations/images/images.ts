import type { Operation } from '../operation.ts'
import { gemini, imagen } from './gemini.ts'
import { edits, generations, variations } from './openai.ts'
import type { ImagesRequest, ImagesResponse } from './request.ts'

const counts = {
  usageOf: ({ usage }: ImagesResponse) => usage,
  unitsOf: ({ images }: ImagesResponse) => ({ images: images.length }),
}

/** Generates images from a prompt. */
export const images: Operation<ImagesRequest, ImagesResponse> = {
  name: 'images',
  dialects: [generations, imagen, gemini],
  ...counts,
}

/** Edits images by a prompt. */
export const imageEdits: Operation<ImagesRequest, ImagesResponse> = {
  name: 'image-edits',
  dialects: [edits, { ...gemini, serves: (model) => imagen.serves?.(model) !== true }],
  ...counts,
}

/** Creates variations of an image, which only OpenAI offers. */
export const imageVariations: Operation<ImagesRequest, ImagesResponse> = {
  name: 'image-variations',
  dialects: [variations],
  ...counts,
}
