export { embeddings } from './embeddings.ts'
