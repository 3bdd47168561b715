// The library's dependency injection reads metadata while its modules load, so the polyfill comes first.
import 'reflect-metadata';

export * from '@peculiar/x509';
