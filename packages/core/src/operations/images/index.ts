export { imageEdits, images, imageVariations } from './images.ts'
