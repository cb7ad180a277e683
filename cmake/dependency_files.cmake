# Libraries for files of samples. Each is optional: without it, that kind of file cannot be read, and says so.
# Sets RONDE_HAVE_JPEG, _PNG, _TIFF, _LMDB and _HDF5. Plain paths, not targets: an installed Ronde must find them too.
set(RONDE_FILE_LIBRARIES "")
set(RONDE_FILE_INCLUDES "")
function(use_file_library libraries includes)
  set(RONDE_FILE_LIBRARIES ${RONDE_FILE_LIBRARIES} ${libraries} PARENT_SCOPE)
  set(RONDE_FILE_INCLUDES ${RONDE_FILE_INCLUDES} ${includes} PARENT_SCOPE)
endfunction()

find_package(JPEG QUIET)
find_package(PNG QUIET)
find_package(TIFF QUIET)

set(RONDE_HAVE_JPEG NO)
if(JPEG_FOUND)
  include(CheckSymbolExists)
  set(CMAKE_REQUIRED_INCLUDES "${JPEG_INCLUDE_DIRS}")
  set(CMAKE_REQUIRED_LIBRARIES "${JPEG_LIBRARIES}")
  check_symbol_exists(jpeg_crop_scanline "stdio.h;jpeglib.h" RONDE_JPEG_IS_TURBO)  # others decode whole pictures only
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(RONDE_JPEG_IS_TURBO)
    set(RONDE_HAVE_JPEG YES)
    use_file_library("${JPEG_LIBRARIES}" "${JPEG_INCLUDE_DIRS}")
  endif()
endif()
set(RONDE_HAVE_PNG ${PNG_FOUND})
if(PNG_FOUND)
  use_file_library("${PNG_LIBRARIES}" "${PNG_INCLUDE_DIRS}")
endif()
set(RONDE_HAVE_TIFF NO)
if(TIFF_FOUND)
  include(CheckSymbolExists)
  set(CMAKE_REQUIRED_INCLUDES "${TIFF_INCLUDE_DIRS}")
  set(CMAKE_REQUIRED_LIBRARIES "${TIFF_LIBRARIES}")
  check_symbol_exists(TIFFOpenOptionsAlloc "tiffio.h" RONDE_TIFF_HAS_OPTIONS)  # 4.5; before, errors were for all files
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(RONDE_TIFF_HAS_OPTIONS)
    set(RONDE_HAVE_TIFF YES)
    use_file_library("${TIFF_LIBRARIES}" "${TIFF_INCLUDE_DIRS}")
  endif()
endif()

find_path(LMDB_INCLUDE_DIR lmdb.h)
find_library(LMDB_LIBRARY lmdb)
set(RONDE_HAVE_LMDB NO)
if(LMDB_INCLUDE_DIR AND LMDB_LIBRARY)
  set(RONDE_HAVE_LMDB YES)
  file(STRINGS "${LMDB_INCLUDE_DIR}/lmdb.h" lmdb_numbers REGEX "#define MDB_VERSION_(MAJOR|MINOR|PATCH)[ \t]+[0-9]+")
  list(TRANSFORM lmdb_numbers REPLACE ".*[ \t]([0-9]+)$" "\\1")
  list(JOIN lmdb_numbers "." LMDB_VERSION)
  use_file_library("${LMDB_LIBRARY}" "${LMDB_INCLUDE_DIR}")
endif()
mark_as_advanced(LMDB_INCLUDE_DIR LMDB_LIBRARY)

set(HDF5_PREFER_PARALLEL OFF)
find_package(HDF5 QUIET COMPONENTS C)
set(RONDE_HAVE_HDF5 NO)
if(HDF5_FOUND)
  set(RONDE_HAVE_HDF5 YES)
  use_file_library("${HDF5_C_LIBRARIES}" "${HDF5_C_INCLUDE_DIRS}")
endif()

# Not for samples: traces for Vampir.
find_path(OTF2_INCLUDE_DIR otf2/otf2.h)
find_library(OTF2_LIBRARY otf2)
set(RONDE_HAVE_OTF2 NO)
if(OTF2_INCLUDE_DIR AND OTF2_LIBRARY)
  set(RONDE_HAVE_OTF2 YES)
  file(STRINGS "${OTF2_INCLUDE_DIR}/otf2/OTF2_GeneralDefinitions.h" otf2_numbers
       REGEX "#define OTF2_VERSION_(MAJOR|MINOR|BUGFIX)[ \t]+[0-9]+")
  list(TRANSFORM otf2_numbers REPLACE ".*[ \t]([0-9]+)$" "\\1")
  list(JOIN otf2_numbers "." OTF2_VERSION)
else()
  set(OTF2_LIBRARY "")
endif()
mark_as_advanced(OTF2_INCLUDE_DIR OTF2_LIBRARY)

record_part(NAME libjpeg-turbo FOUND ${RONDE_HAVE_JPEG} VERSION "${JPEG_VERSION}" PACKAGE libjpeg62-turbo-dev
            PURPOSE "JPEG pictures" DETAIL "")
record_part(NAME libpng FOUND ${RONDE_HAVE_PNG} VERSION "${PNG_VERSION_STRING}" PACKAGE libpng-dev
            PURPOSE "PNG pictures" DETAIL "")
record_part(NAME libtiff FOUND ${RONDE_HAVE_TIFF} VERSION "${TIFF_VERSION_STRING}" PACKAGE libtiff-dev
            PURPOSE "GeoTIFF bands" DETAIL "")
record_part(NAME LMDB FOUND ${RONDE_HAVE_LMDB} VERSION "${LMDB_VERSION}" PACKAGE liblmdb-dev
            PURPOSE "LMDB files" DETAIL "")
record_part(NAME HDF5 FOUND ${RONDE_HAVE_HDF5} VERSION "${HDF5_VERSION}" PACKAGE libhdf5-dev
            PURPOSE "HDF5 files" DETAIL "")
record_part(NAME OTF2 FOUND ${RONDE_HAVE_OTF2} VERSION "${OTF2_VERSION}" PACKAGE libotf2-trace-dev
            PURPOSE "traces for Vampir" DETAIL "")
