import type { Operation } from '../operation.ts'
import { gemini, imagen } from './gemini.ts'
import { edits, generations, variations } from './openai.ts'
import type { ImagesRequest, ImagesResponse } from './request.ts'

const counts = {
  usageOf: ({ usage }: ImagesResponse) => usage,
  unitsOf: ({ images }: ImagesResponse) => ({ images: images.length }),
}

/** Images from words. */
export const images: Operation<ImagesRequest, ImagesResponse> = {
  name: 'images',
  dialects: [generations, imagen, gemini],
  ...counts,
}

/** Images from images and words. */
export const imageEdits: Operation<ImagesRequest, ImagesResponse> = {
  name: 'image-edits',
  dialects: [edits, { ...gemini, serves: (model) => imagen.serves?.(model) !== true }],
  ...counts,
}

/** Images like an image: nobody but OpenAI does that. */
export const imageVariations: Operation<ImagesRequest, ImagesResponse> = {
  name: 'image-variations',
  dialects: [variations],
  ...counts,
}
