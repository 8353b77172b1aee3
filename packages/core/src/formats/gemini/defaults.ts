import type { RequestDefaults } from '../shared/defaults.ts'

// Sources: Google's OpenAPI document of v1beta (GenerationConfig: `candidateCount`, `responseMimeType`, `responseModalities`,
// `responseLogprobs`; FunctionCallingConfig: `mode`). Sampling has no entry: its defaults depend on the model.

/** What a generateContent request says by leaving a field out. */
export const defaults = {
  '/generationConfig/candidateCount': 1,
  '/generationConfig/responseMimeType': 'text/plain',
  '/generationConfig/responseModalities': ['TEXT'],
  '/generationConfig/responseLogprobs': false,
  '/toolConfig/functionCallingConfig/mode': 'AUTO',
} as const satisfies RequestDefaults
